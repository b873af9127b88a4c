"""The native transport: a session that answers /dev/fuse, one request at a time.

The kernel module remembers names, and attributes of directories, as `remembered_names` says. It remembers no attributes
of files (their timeouts are 0). So a program sees the model's present state. The mount has no `default_permissions`, so
the model checks permissions.

A FUSE file system cannot do all that a cgroup file system does. The kernel in between decides these:

* statfs shows FUSE's type, and mountinfo `fuse.fakecgroup`;
* the directories of v1 are one mount: a rename between two hierarchies that is impossible anyway (to a descendant, an
  exchange with nothing) fails with the errno for that, not with EXDEV;
* a write of no bytes and the position of an open file do not reach the daemon;
* setxattr looks at system.posix_acl_access and security.* first.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from errno import EAGAIN, ECONNABORTED, EINTR, EIO, ENODEV, ENOENT, ENOMEM, ESTALE
from functools import partial
from io import FileIO
from struct import Struct
from typing import TYPE_CHECKING, Any

from fakecgroup import Caller, Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.kernfs.inode import Inode
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.delayed_notify import DelayedNotifier
from fakecgroup_mount.fuse.modify_events import ModifyEvents
from fakecgroup_mount.fuse.nodes import Nodes
from fakecgroup_mount.fuse.remembered_names import RememberedNames
from fakecgroup_mount.fuse.requests import BUFFER_SIZE, Handler, Requests
from fakecgroup_mount.host.descriptors import Descriptors
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.mountinfo import device_at
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.shortage import is_shortage, reply_errno

if TYPE_CHECKING:
    from fakecgroup.faults.faults import Firing
    from fakecgroup_mount.fuse.traced_requests import TracedRequests
    from fakecgroup_mount.record.callers import Who
    from fakecgroup_mount.record.recorder import Recorder

log = Log(__name__)

_CHANGING = frozenset((wire.WRITE, wire.MKDIR, wire.RMDIR))
"""Requests after which a file's content may differ."""
_TIMED = (wire.OPEN, wire.READ, wire.WRITE, wire.POLL, wire.MKDIR, wire.RMDIR)
"""Requests whose answer depends on what processes use."""
_ZOMBIES = 1000  # ms between two looks at zombies when no request comes
_RETRY = 100  # ms until a report of exits that failed for a shortage is tried again
_SETTLES = 5.0  # seconds that somebody waits for it at most
_CALLERS = 256  # callers that are kept, by uid, gid and tid
_HEADER = Struct("=4xIQQ12s")  # opcode unique nodeid, and uid gid pid in one
_WHO = Struct("=III")
_OUT = wire.OUT_SIZE


class Session:
    """The mount at `path`: answers the requests of `fd`, an open /dev/fuse, until it is unmounted.

    `path` may lead into another mount namespace; then `device` is the mount's device ("0:42").

    `lock` is the model's lock. The thread in `serve` takes it for each request. Another thread that uses the model or
    the processes takes it too, and must not use the mount while it holds it: only `serve` could answer (`run.server`
    draws all threads and locks).
    """

    def __init__(
        self, fd: int, path: str, kernel: Kernel, ids: IdMap, processes: HostProcesses, *, device: str | None = None
    ) -> None:
        self.lock = threading.Lock()
        self.cgroup_root_of: Callable[[int], Cgroup | None] = lambda tid: None
        """The root of a thread's cgroup namespace, or None for the initial one. A plain mount knows of no others."""
        self._fd = fd
        self._takes_late: Callable[[bytes], bool] | None = None
        self._kernel = kernel
        self._ids = ids
        self._processes = processes
        self._buffer = bytearray(BUFFER_SIZE)
        self._nodes = Nodes(kernel.vfs.root)
        self._modify_events = ModifyEvents(path, kernel, self._nodes.number_of)
        self._names = RememberedNames(fd, self.lock, self._nodes)
        self._requests = Requests(fd, self._buffer, kernel, ids, self._nodes, self._names, self._modify_events)
        self._answers = self._requests.handlers()
        self._handlers = list(self._answers)  # what `serve` calls: the answers, or these as they are recorded
        self._traced: TracedRequests | None = None
        find_device = partial(device_at, path) if device is None else lambda: device
        self._descriptors = Descriptors(find_device, self._requests.files.values)
        self._told: list[Callable[[CgroupFile], None]] = []
        kernel.on_notify = self._notify
        kernel.on_gone = self._gone
        kernel.on_child = self._child_changed
        kernel.on_files = self._requests.listings.drop
        kernel.on_notify_later = DelayedNotifier(self.lock).add

    def serve(self) -> None:
        """Answers until the file system is unmounted, or until a signal arrives after `stop`."""
        fd = self._fd
        buffer = self._buffer
        handlers = self._handlers
        lock = self.lock
        copied, invalidator = self._requests.copies.open, self._requests.invalidator
        names = self._names
        names.server = threading.get_ident()
        taken, closed, by_id = names.taken, names.closed, self._nodes.by_id
        processes = self._processes
        watched = processes.watched
        exits = processes.exits.fileno()
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.register(exits, select.POLLIN)
        device = FileIO(fd, "r+", closefd=False)
        unpack_header, read, write = _HEADER.unpack_from, device.readinto, device.write
        callers: dict[bytes, Caller] = {}
        acquire, release = lock.acquire, lock.release  # half the cost of `with`
        failed = False
        while True:
            if watched:
                ready = dict(poller.poll(_RETRY if failed else _ZOMBIES if processes.dead else None))
                if failed:
                    poller.register(exits, select.POLLIN)
                if failed or exits in ready or processes.dead:  # before the requests that came after the exit
                    failed = not self._report()
                    if failed:
                        poller.unregister(exits)
                if fd not in ready:
                    continue
            try:
                size = read(buffer)
            except OSError as error:
                if error.errno in (ENODEV, ECONNABORTED):  # unmounted; ECONNABORTED while a request was read
                    return
                if error.errno in (ENOENT, EINTR, EAGAIN):  # the request was withdrawn
                    continue
                if error.errno == ENOMEM:
                    continue
                raise
            if not size:
                return
            opcode, unique, node_id, who = unpack_header(buffer)
            try:
                caller = callers.get(who)
                if caller is None:
                    if len(callers) == _CALLERS:
                        callers.clear()
                    caller = callers[who] = self._caller(who)
                acquire()
                try:
                    if closed and names.is_barred(opcode, by_id.get(node_id), caller):
                        raise OSError(ESTALE, os.strerror(ESTALE))
                    reply = handlers[opcode](unique, node_id, caller, size)
                finally:
                    release()
            except OSError as error:
                reply = wire.OUT_HEADER.pack(_OUT, -reply_errno(error), unique)
            except MemoryError:
                reply = wire.OUT_HEADER.pack(_OUT, -ENOMEM, unique)
            except Exception:
                log.exception("opcode %d, node %d", opcode, node_id)
                reply = wire.OUT_HEADER.pack(_OUT, -EIO, unique)
            if taken:
                if opcode == wire.WRITE and reply is not None:
                    changed = partial(invalidator.reply, list(copied.values()), _tid(who), reply)
                    names.take_back(changed if copied else partial(names.send, reply))
                    continue
                names.take_back(None)
            if reply is not None:
                if self._takes_late is not None and self._takes_late(reply):
                    continue
                if copied and opcode in _CHANGING:
                    invalidator.reply(copied.values(), _tid(who), reply)
                    continue
                try:
                    write(reply)
                except OSError as error:
                    if error.errno not in (ENOENT, ENODEV):  # nobody waits for this reply any more
                        raise

    def _report(self) -> bool:
        """Tells the model of exits. Returns False where a shortage left some of them for later."""
        try:
            with self.lock:
                self._processes.report(self._kernel)
        except Exception as error:
            log.exception("a process has exited")
            return not is_shortage(error)
        return True

    def _caller(self, who: bytes) -> Caller:
        """The caller of a request, which can tell the root of its cgroup namespace."""
        uid, gid, tid = _WHO.unpack(who)
        return self.caller(uid, gid, tid)._replace(cgroup_root=partial(self._cgroup_root, tid))

    def _cgroup_root(self, tid: int) -> Cgroup | None:
        return self.cgroup_root_of(tid)

    def before_requests(self, before: Callable[[], None], after_changes: Callable[[], None]) -> None:
        """From now on calls `before` before each request that depends on what processes use, and `after_changes` after
        each that may change what they may use. Both are called with the lock held. The caller holds it too.
        """

        def timed(handler: Handler, after: Callable[[], None] | None) -> Handler:
            def answer(unique: int, node_id: int, caller: Caller, size: int) -> bytes | None:
                before()
                try:
                    return handler(unique, node_id, caller, size)
                finally:
                    if after is not None:
                        after()

            return answer

        for opcode in _TIMED:
            self._answers[opcode] = timed(self._answers[opcode], after_changes if opcode in _CHANGING else None)
        self._use_handlers()

    def observe(self, recorder: Recorder | None) -> None:
        """From now on gives a recorder what is asked and answered; None ends that. The caller holds the lock."""
        if self._traced is not None:
            self._traced.close()
            self._traced = None
        if recorder is not None:
            from fakecgroup_mount.fuse.traced_requests import TracedRequests  # takes a while to load
            from fakecgroup_mount.record.callers import Callers

            adopt = self._kernel.membership.adopt_forked

            def meet(who: Who, told: dict[str, Any]) -> None:
                adopt()  # so that its fork is told first
                recorder.meet(who, told)

            callers = Callers(self._processes.privileges, meet)
            self._traced = TracedRequests(
                recorder,
                callers,
                self._buffer,
                self._nodes,
                self._kernel.root,
                self._processes.find,
                self._requests.files,
            )
        self._use_handlers()

    def _use_handlers(self) -> None:
        traced = self._traced
        self._names.let(traced is None and self._takes_late is None)
        self._handlers[:] = (
            self._answers
            if traced is None
            else [traced.wrap(opcode, handler) for opcode, handler in enumerate(self._answers)]
        )

    def adopt_vfs(self, takes_late: Callable[[bytes], bool]) -> None:
        """From now on uses the model's system calls as they are now, and asks `takes_late` about each reply.

        Replies for which it is true are sent by whoever took them, with `send`. The caller holds the lock.
        """
        self._requests.adopt_vfs()
        self._takes_late = takes_late
        self._names.let(False)

    def settle(self) -> None:
        """Waits until the kernel module remembers nothing that it should not. The caller does not hold the lock."""
        self._names.settle(_SETTLES)

    def note_firing(self, firing: Firing) -> None:
        """A rule of a fault has fired in the present request."""
        if self._traced is not None:
            self._traced.note_firing(firing)

    def send(self, reply: bytes) -> None:
        """Sends a reply from another thread. Raises OSError where nobody waits for it any more."""
        os.write(self._fd, reply)

    def tell_control_socket(self, path: str | None) -> None:
        """Answers CONTROL_XATTR with the path of the control socket from now on; None for no socket."""
        self._requests.control_socket = os.fsencode(path or "")

    def inode(self, ino: int) -> Inode | None:
        """The inode with this number, if the kernel module knows it. May be called from any thread."""
        return self._nodes.find(ino)

    def stop(self) -> None:
        """Cuts the connection. Requests under way fail, and `serve` returns at the next signal."""
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, self._fd, inheritable=False)
        os.close(null)

    def _notify(self, file: CgroupFile) -> None:
        """`Kernel.on_notify`: wakes up pollers and inotify watchers of `file`."""
        # a watch keeps its node; kernfs_notify_workfn skips unknown inodes too
        if file in self._nodes.by_inode and file.seen_by_inotify:
            self._modify_events.add(file)
        self._requests.pollers.wake(file)
        for tell in self._told:
            tell(file)

    def _gone(self, inode: Inode) -> None:
        """`Kernel.on_gone`."""
        self._names.gone(inode)
        if isinstance(inode, Cgroup):
            self._requests.listings.drop(inode)
            self._forget_attributes(inode)

    def _child_changed(self, cgroup: Cgroup, name: str) -> None:
        """`Kernel.on_child`: the number of links of a directory changes, or its content."""
        self._requests.listings.child_changed(cgroup, name)
        self._forget_attributes(cgroup)

    def _forget_attributes(self, cgroup: Cgroup) -> None:
        node = self._nodes.by_inode.get(cgroup)
        if node is not None:
            self._names.forget_attributes(node)

    def tell_events(self, tell: Callable[[CgroupFile], None]) -> None:
        """Calls `tell`, too, for each poll event on a file, with the lock held."""
        self._told.append(tell)

    def caller(self, uid: int, gid: int, tid: int) -> Caller:
        """The model's caller for a thread with these file system ids."""
        return self._ids.caller(uid, gid, tid, self._descriptors.of(tid))


def _tid(who: bytes) -> int:
    _, _, tid = _WHO.unpack(who)
    return int(tid)
