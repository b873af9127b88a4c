"""The model, ``fakecgroup.Kernel``, as a target: no mount, no real processes.

Time stands still but for `settle`: what a kernel tells a little later is told then.

What the system call layer above kernfs adds (file positions, buffer sizes, umask) is added here.  Processes exist only
in the model's own table; what they allocate is simulated, and signals other than KILL do nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from errno import (
    EBADF,
    ECHILD,
    EEXIST,
    EINVAL,
    EISDIR,
    ENODEV,
    ENOENT,
    ENXIO,
    EPERM,
    ERANGE,
    ESPIPE,
    ESRCH,
    EXDEV,
    errorcode,
)
from typing import Any

from fakecgroup import Caller, Capability, EventFd, Kernel, OpenFile, Privileges, ProcessTable, Workload
from fakecgroup.conformance import recording
from fakecgroup.conformance.case import EPOLLET, POLL, Answer, Case, Op, arguments, poll_names, ready_text, stat_value
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.credentials.capability import ALL, NONE
from fakecgroup.kernfs.inode import Inode, Stat
from fakecgroup.machine.learnt import LearntKernel
from fakecgroup.outside import online_files
from fakecgroup.outside.cpu_lists import cpu_list, numbers_of
from fakecgroup.vfs.vfs import MAX_NON_LFS

_AGENT = "/agent"
_HOTPLUG = 60  # milliseconds that an operation on a CPU takes
_OVERFLOW = 65534  # stands for an id that a user namespace has not (/proc/sys/kernel/overflowuid)
_BEGIN = 1_000_000_000_000_000_000  # ns: long after any event before
# Bytes of the kernel's memory for a process, roughly: stacks, page tables.
_OF_THE_KERNEL = 128 << 10


@dataclass
class _Handle:
    """An open file description: what is open, and its position."""

    inode: Inode
    flags: int
    file: OpenFile | None
    position: int = 0

    def poll(self) -> int:
        return self.file.poll() if self.file else POLL["IN"] | POLL["OUT"]


class _Other:
    """What else can be open: an eventfd with the count of its signals, or a file outside the tree."""

    def __init__(self, event: bool) -> None:
        self.count = 0
        self.event = EventFd(self._signal) if event else "file"

    def _signal(self) -> None:
        self.count += 1


@dataclass
class _Item:
    """What an epoll waits for. It is looked at only when something has woken it up (fs/eventpoll.c)."""

    handle: _Handle
    events: int
    woken: bool = True

    def ready(self) -> int:
        """The events to tell of now; level-triggered, it is looked at again until there are none."""
        found = self.handle.poll() & (self.events | POLL["ERR"] | POLL["HUP"]) if self.woken else 0
        self.woken = bool(found) and not self.events & EPOLLET
        return found


def descriptor(name: str) -> int:
    """The number of the file that is open under a name."""
    return int.from_bytes(name.encode("latin-1"), "big")


@dataclass
class Actor:
    """A process or thread that does operations."""

    tid: int
    uid: int = 0
    gid: int = 0
    umask: int = 0o022
    handles: dict[str, _Handle] = field(default_factory=dict)
    others: dict[str, _Other] = field(default_factory=dict)
    status: str = "signal 9"
    doomed: bool = False
    cgroup_root: Cgroup | None = None  # of its cgroup namespace, if that is not the initial one

    groups: frozenset[int] = frozenset()
    effective: Capability = ALL
    permitted: Capability = ALL
    namespace: int = 0  # of users; its own ids are the only ones in another than the initial one

    @property
    def caller(self) -> Caller:
        return Caller(
            self.uid,
            self.gid,
            self.tid,
            lambda: self.groups,
            self.file,
            capabilities=self.privileges,
            cgroup_root=lambda: self.cgroup_root,
        )

    def privileges(self) -> Privileges:
        if not self.namespace:
            return Privileges(self.effective, self.permitted)
        return Privileges(self.effective, self.permitted, self.namespace, (self.uid,), (self.gid,))

    @property
    def by_real_ids(self) -> Caller:
        """As access(2) judges: root has what it is permitted, nobody else has a capability."""
        root = self.namespace or not self.uid
        judged = replace(self, effective=self.permitted if root else NONE)
        return self.caller._replace(capabilities=judged.privileges)

    def file(self, descriptor: int) -> object:
        """What a descriptor is open on, by the number that `descriptor` gives a handle; 0 to 2 are always open."""
        name = descriptor.to_bytes((descriptor.bit_length() + 7) // 8, "big").decode("latin-1")
        if name in self.handles:
            return self.handles[name].inode
        if name in self.others:
            return self.others[name].event
        return "standard stream" if descriptor < 3 else None


class _StepError(Exception):
    """The answer of an operation that failed in one of several system calls, or in none."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.answer: Answer = (name, None)


def _step(error: OSError, step: str) -> _StepError:
    return _StepError(f"{errorcode[error.errno or EINVAL]}@{step}")


class ModelTable(ProcessTable):
    """A table that tells the kernel of every death, as a real machine's watcher does."""

    kernel: Kernel | None = None

    def exit(self, tid: int) -> None:
        super().exit(tid)
        if self.kernel is not None:
            self.kernel.task_exited(tid)


def machine_of(layout: str, version: str | LearntKernel, machine: str = recording.PLAIN) -> Mapping[str, Any]:
    """The machine on which a kernel was asked, as `recording.description`. Raises RecordingError."""
    if isinstance(version, LearntKernel):
        return version.machine
    return recording.description(layout, version, machine)


class ModelTarget:
    """The model of one layout and kernel; every case gets a fresh one."""

    def __init__(
        self,
        layout: str,
        version: str | LearntKernel,
        machine: str = recording.PLAIN,
        *,
        description: Mapping[str, Any] | None = None,
    ) -> None:
        """The machine is that of the recording, or as described (`recording.description`, with `hugepages`, sizes in
        bytes, and `mount_options` if they are not the usual ones); that of a learnt kernel is in its file.  Raises
        RecordingError where there is no recording.
        """
        self._machine = description or machine_of(layout, version, machine)
        self._layout = layout
        self._version = version
        self.pids: dict[int, str] = {}

    def _new_table(self) -> ModelTable:
        return ModelTable()

    def start(self, case: Case) -> None:
        self.table = self._new_table()
        self.now = _BEGIN
        self.later: list[tuple[int, CgroupFile]] = []
        self.kernel = Kernel(
            self._layout,
            self._version,
            cpus=self._machine["cpus"],
            numa_nodes=self._machine["nodes"],
            memory=self._machine["memory"],
            swap=self._machine.get("swap", 0),
            block_devices=self._machine["block_devices"],
            hugepages=self._machine.get("hugepages"),
            mount_options=self._machine.get("mount_options"),
            processes=self.table,
            clock=lambda: self.now,
        )
        self.table.kernel = self.kernel
        self.released: list[str] = []
        self.kernel.on_release = self._release
        self.kernel.on_notify = self._notify
        self.kernel.on_notify_later = lambda file, wait: self.later.append((self.now + wait, file))
        self.epolls: dict[str, dict[str, _Item]] = {}  # by name of the epoll and of the handle
        self.vfs = self.kernel.vfs
        self.held: dict[int, int] = {}  # bytes that processes have asked for
        self.actor = Actor(self.table.add())
        self.actors = {"self": self.actor}
        self.pids = {self.actor.tid: "self"}

    def finish(self) -> None:
        self.actors.clear()

    def do(self, op: Op) -> Answer:
        method: Callable[..., Any] | None = getattr(self, f"_do_{op[0]}", None)
        if method is None:
            raise UnsupportedError(str(op[0]), ends=False)
        values = [os.fsdecode(value) if kind in ("path", "text") else value for kind, value in arguments(op)]
        if self._layout != "v2":
            self._bury()
        try:
            return (None, method(*values))
        except _StepError as step:
            return step.answer
        except OSError as error:
            return (errorcode[error.errno or EINVAL], None)

    # -- paths ------------------------------------------------------------------------------------

    def _inode(self, path: str, *, follow: bool = False) -> Inode:
        return self.kernel.walk(path, self.actor.caller, follow=follow)

    def _do_mkdir(self, path: str, mode: int) -> None:
        self.kernel.mkdir(path, mode & ~self.actor.umask, self.actor.caller)

    def _do_rmdir(self, path: str) -> None:
        self.kernel.rmdir(path, self.actor.caller)

    def _do_unlink(self, path: str) -> None:
        self.kernel.unlink(path, self.actor.caller)

    def _do_rename(self, path: str, new_path: str, flags: int) -> None:
        _inside(path, new_path)
        self.kernel.rename(path, new_path, self.actor.caller, flags=flags)

    def _do_symlink(self, target: str, path: str) -> None:
        if not target:
            raise OSError(ENOENT, "")
        parent, name = self.kernel.walk_parent(path, self.actor.caller)
        self.vfs.symlink(parent, name, target, self.actor.caller)

    def _do_link(self, path: str, new_path: str) -> None:
        _inside(path, new_path)
        inode = self._inode(path)
        parent, name = self.kernel.walk_parent(new_path, self.actor.caller)
        self.vfs.link(inode, parent, name, self.actor.caller)

    def _do_readlink(self, path: str) -> str:
        return self.vfs.readlink(self._inode(path))

    def _do_mknod(self, path: str, mode: int, device: int) -> None:
        self.vfs.check_node_type(mode)
        parent, name = self.kernel.walk_parent(path, self.actor.caller)
        self.vfs.mknod(parent, name, mode, device, self.actor.caller)

    def _do_creat(self, path: str, mode: int) -> None:
        self._open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)

    def _do_truncate(self, path: str, size: int) -> None:
        if size < 0:
            raise OSError(EINVAL, "")
        self.vfs.setattr(self._inode(path, follow=True), self.actor.caller, size=size)

    def _do_chmod(self, path: str, mode: int) -> None:
        self.kernel.chmod(path, mode, self.actor.caller)

    def _do_chown(self, path: str, uid: int, gid: int) -> None:
        actor = self.actor
        if actor.namespace:
            uid, gid = (_outside(given, own) for given, own in ((uid, actor.uid), (gid, actor.gid)))
        self.kernel.chown(path, uid, gid, actor.caller)

    def _do_utimens(self, path: str, atime: int, mtime: int) -> None:
        inode = self._inode(path, follow=True)
        self.vfs.setattr(inode, self.actor.caller, atime=atime * 10**9, mtime=mtime * 10**9)

    def _do_mtime(self, path: str) -> int:
        return self.vfs.getattr(self._inode(path)).mtime // 10**9

    def _do_stat(self, path: str) -> dict[str, Any]:
        return self._stat(self.vfs.getattr(self._inode(path)))

    def _do_statfs(self, path: str) -> dict[str, int]:
        fs = self.vfs.statfs(self._inode(path, follow=True))
        whole = {"type": fs.type, "bsize": fs.bsize, "frsize": fs.bsize, "namelen": fs.namelen}
        return {**whole, "blocks": 0, "files": 0}

    def _stat(self, st: Stat) -> dict[str, Any]:
        uid, gid = st.uid, st.gid
        if self.actor.namespace:
            uid, gid = (
                0 if own == shown else _OVERFLOW for own, shown in ((self.actor.uid, uid), (self.actor.gid, gid))
            )
        return stat_value(st.mode, st.nlink, uid, gid, st.size, st.blksize, st.blocks)

    def _do_access(self, path: str, mask: int) -> None:
        caller = self.actor.by_real_ids
        self.vfs.access(self.kernel.walk(path, caller), mask, caller)

    def _do_listraw(self, path: str) -> list[str]:
        try:
            return [".", "..", *self.kernel.listdir(path, self.actor.caller)]
        except OSError as error:
            raise _step(error, "open") from None

    def _do_listdir(self, path: str) -> list[str]:
        return sorted(self._do_listraw(path)[2:])

    # -- attributes -------------------------------------------------------------------------------

    def _do_setxattr(self, path: str, name: str, value: bytes, flags: int) -> None:
        self.vfs.setxattr(self._inode(path), name, value, flags, self.actor.caller)

    def _do_getxattr(self, path: str, name: str, size: int) -> int | str:
        value = self.vfs.getxattr(self._inode(path), name, self.actor.caller)
        if not size:
            return len(value)
        if len(value) > size:
            raise OSError(ERANGE, "")
        return _text(value)

    def _do_listxattr(self, path: str) -> list[str]:
        return self.vfs.listxattr(self._inode(path), self.actor.caller)

    def _do_removexattr(self, path: str, name: str) -> None:
        self.vfs.removexattr(self._inode(path), name, self.actor.caller)

    # -- open files -------------------------------------------------------------------------------

    def _open(self, path: str, flags: int) -> _Handle:
        caller = self.actor.caller
        if path.startswith("/"):
            raise UnsupportedError("a file outside the tree")
        if flags & os.O_PATH:
            return _Handle(self.kernel.walk(path, caller), flags, None)
        if not flags & (os.O_CREAT | os.O_ACCMODE | os.O_TRUNC) and flags & os.O_TMPFILE != os.O_TMPFILE:
            inode = self.kernel.walk(path, caller)
            if inode.is_dir:
                self.vfs.opendir(inode, caller)
                return _Handle(inode, flags, None)
        file = self.kernel.open(path, flags, caller)
        return _Handle(file.inode, flags, file)

    def _do_eventfd(self, name: str) -> None:
        self.actor.others[name] = _Other(event=True)

    def _do_eventcount(self, name: str) -> int:
        other = self.actor.others[name]
        count, other.count = other.count, 0
        return count

    def _handle(self, name: str) -> _Handle:
        if name in self.actor.others:
            raise UnsupportedError("a file outside the tree", ends=False)
        if name not in self.actor.handles:
            raise OSError(EBADF, "")
        return self.actor.handles[name]

    def _file(self, name: str, wrong: int) -> tuple[_Handle, OpenFile]:
        """A handle and its open file; `wrong` is the errno for a directory."""
        handle = self._handle(name)
        if handle.file is None:
            raise OSError(EBADF if handle.flags & os.O_PATH else wrong, "")
        return handle, handle.file

    def _do_read(self, path: str) -> str:
        try:
            file = self._open(path, os.O_RDONLY).file
        except OSError as error:
            raise _step(error, "open") from None
        data = b""
        try:
            if file is None:
                raise OSError(EISDIR, "")
            while piece := file.read(len(data), 1 << 17):
                data += piece
        except OSError as error:
            raise _step(error, "read") from None
        return _text(data)

    def _do_until(self, path: str, text: bytes) -> str:
        return self._do_read(path)

    def _do_write(self, path: str, data: bytes) -> int | None:
        try:
            file = self.kernel.open(path, os.O_WRONLY, self.actor.caller)
        except OSError as error:
            raise _step(error, "open") from None
        data = self._expand(data)
        try:
            return _short(file.write(data, self.actor.caller), data)
        except OSError as error:
            raise _step(error, "write") from None

    def _do_open(self, name: str, path: str, flags: int, mode: int) -> None:
        if path.startswith("/"):
            self.actor.handles.pop(name, None)
            self.actor.others[name] = _Other(event=False)
            raise UnsupportedError("a file outside the tree", ends=False)
        handle = self._open(path, flags)
        before = self.actor.handles.pop(name, None)
        held = (each for actor in self.actors.values() for each in actor.handles.values())
        if before is not None and not any(each is before for each in held):  # it is closed
            for items in self.epolls.values():
                if name in items and items[name].handle is before:
                    del items[name]
        self.actor.handles[name] = handle
        self.actor.others.pop(name, None)

    def _do_close(self, name: str) -> None:
        self._handle(name)
        del self.actor.handles[name]

    def _do_fread(self, name: str, size: int) -> str:
        handle, file = self._file(name, EISDIR)
        data = file.read(handle.position, size)
        handle.position += len(data)
        return _text(data)

    def _do_fpread(self, name: str, size: int, offset: int) -> str:
        if offset < 0:
            raise OSError(EINVAL, "")
        return _text(self._file(name, EISDIR)[1].read(offset, size))

    def _do_fwrite(self, name: str, data: bytes) -> int | None:
        handle, file = self._file(name, EBADF)
        data = self._expand(data)
        written = file.write(data, self.actor.caller)
        handle.position += written
        return _short(written, data)

    def _do_fpwrite(self, name: str, data: bytes, offset: int) -> int | None:
        if offset < 0:
            raise OSError(EINVAL, "")
        handle, file = self._file(name, EBADF)
        if not handle.flags & os.O_ACCMODE:
            raise OSError(ESPIPE, "")  # seq_open takes positioned writes away, kernfs gives them back to writers
        data = self._expand(data)
        return _short(file.write(data, self.actor.caller), data)

    def _do_lseek(self, name: str, offset: int, whence: int) -> int:
        """generic_file_llseek on a file of size 0; from 6.12 kernfs looks first whether the file is still there."""
        handle = self._handle(name)
        if handle.flags & os.O_PATH:
            raise OSError(EBADF, "")
        personality = self.kernel.personality
        if handle.file is not None and personality.at_least(6, 12) and not handle.inode.alive:
            raise OSError(ENODEV, "")
        if whence in (3, 4):
            raise OSError(ENXIO, "")
        if whence not in (0, 1, 2):
            raise OSError(EINVAL, "")
        position = offset + (handle.position if whence == 1 else 0)
        end = (1 << 63) - 1 if personality.at_least(7, 0) else MAX_NON_LFS
        if not 0 <= position <= end:
            raise OSError(EINVAL, "")
        handle.position = position
        return position

    def _do_ftruncate(self, name: str, size: int) -> None:
        if size < 0:
            raise OSError(EINVAL, "")
        handle, file = self._file(name, EINVAL)
        self.vfs.setattr(handle.inode, self.actor.caller, size=size, handle=file)

    def _copied(self, name: str, size: int, offset: int) -> str:
        """What splice_read of a file gives, from a position or else from that of the open file."""
        handle, file = self._file(name, EINVAL)
        if handle.flags & os.O_ACCMODE == os.O_WRONLY:
            raise OSError(EBADF, "")
        position = handle.position if offset < 0 else offset
        data = file.read(position, size, self.actor.caller)
        if offset < 0:
            handle.position += len(data)
        return _text(data)

    _do_sendfile = _do_splice = _copied

    def _do_sendfile_to(self, name: str, data: bytes) -> int | None:
        return self._do_fwrite(name, data)

    def _do_splice_to(self, name: str, data: bytes, offset: int) -> int | None:
        return self._do_fwrite(name, data) if offset < 0 else self._do_fpwrite(name, data, offset)

    def _opened_for(self, name: str, mode: int) -> None:
        """What copy_file_range(2) asks of both files first (generic_copy_file_checks)."""
        handle, _ = self._file(name, EISDIR)
        if handle.flags & os.O_ACCMODE not in (mode, os.O_RDWR):
            raise OSError(EBADF, "")

    def _do_copy_range(self, name: str, other: str, size: int) -> int:
        """Nothing, as the file's size is 0."""
        self._opened_for(name, os.O_RDONLY)
        self._opened_for(other, os.O_WRONLY)
        return 0

    def _do_copy_out(self, name: str, size: int) -> None:
        self._opened_for(name, os.O_RDONLY)
        raise OSError(EXDEV, "")

    def _do_copy_in(self, name: str, data: bytes) -> None:
        self._opened_for(name, os.O_WRONLY)
        raise OSError(EXDEV, "")

    def _do_fsync(self, name: str) -> None:
        self._file(name, EINVAL)

    def _do_fstat(self, name: str) -> dict[str, Any]:
        return self._stat(self.vfs.getattr(self._handle(name).inode))

    def _do_poll(self, name: str, events: int) -> list[str]:
        if name not in self.actor.handles:
            return []  # poll(2) passes over a descriptor below 0
        handle = self.actor.handles[name]
        if handle.flags & os.O_PATH:
            return ["NVAL"]
        return poll_names(handle.poll() & (events | POLL["ERR"] | POLL["HUP"]))

    def _do_epoll(self, name: str) -> None:
        self.epolls[name] = {}

    def _epoll(self, name: str) -> dict[str, _Item]:
        if name not in self.epolls:
            raise OSError(EBADF, "")
        return self.epolls[name]

    def _do_epoll_add(self, epoll: str, name: str, events: int) -> None:
        handle, items = self._handle(name), self._epoll(epoll)
        if handle.file is None:
            raise OSError(EBADF if handle.flags & os.O_PATH else EPERM, "")
        if name in items:
            raise OSError(EEXIST, "")
        items[name] = _Item(handle, events)

    def _do_ready(self, epoll: str) -> list[str]:
        asked = ((name, item.ready()) for name, item in self._epoll(epoll).items())
        return sorted(ready_text(name, bits) for name, bits in asked if bits)

    def _notify(self, file: CgroupFile) -> None:
        for item in (item for items in self.epolls.values() for item in items.values()):
            opened = item.handle.file
            item.woken |= opened is not None and opened.inode is file and opened.hears

    # -- who does it ------------------------------------------------------------------------------

    def _do_as(self, uid: int, gid: int) -> None:
        self.actor.uid, self.actor.gid = uid, gid
        self.actor.effective = NONE if uid else self.actor.permitted
        self.table.set_uid(self.actor.tid, uid, 0)

    def _do_capabilities(self, effective: int, permitted: int) -> None:
        self.actor.permitted &= Capability(permitted)
        self.actor.effective = self.actor.permitted & Capability(effective)
        self.table.grant(self.actor.tid, self.actor.privileges())

    def _do_user_namespace(self) -> None:
        self.actor.namespace = self.actor.tid
        self.actor.effective = self.actor.permitted = ALL
        self.table.grant(self.actor.tid, self.actor.privileges())

    def _do_unshare(self) -> None:
        """Its root is where who makes it is (copy_cgroup_ns)."""
        hierarchy = next(hierarchy for hierarchy in self.kernel.hierarchies if hierarchy.dfl)
        self.actor.cgroup_root = hierarchy.cgroup_of(self.actor.tid)

    def _do_umask(self, mask: int) -> int:
        before, self.actor.umask = self.actor.umask, mask
        return before

    def _expand(self, data: bytes) -> bytes:
        if b"$" not in data:
            return data
        values: dict[str, object] = {"agent": _AGENT}
        values |= {name: descriptor(name) for name in (*self.actor.handles, *self.actor.others)}
        values |= {name: actor.tid for name, actor in self.actors.items()}
        for name in sorted(values, key=len, reverse=True):
            data = data.replace(b"$" + name.encode(), str(values[name]).encode())
        return data

    # -- processes --------------------------------------------------------------------------------

    def _named(self, name: str) -> Actor:
        if name not in self.actors:
            raise _StepError("NOHELPER")
        return self.actors[name]

    def _state(self, actor: Actor) -> str:
        task = self.table.find(actor.tid)
        return "gone" if task is None else "Z" if task.zombie else "S"

    def _add(self, name: str, tid: int, *, thread: bool = False) -> None:
        actor = self.actor
        handles, others = actor.handles, actor.others
        if not thread:
            handles, others = dict(handles), dict(others)
        self.actors[name] = replace(actor, tid=tid, handles=handles, others=others, status=Actor.status, doomed=False)
        self.pids[tid] = name

    def _do_fork(self, name: str) -> None:
        self._add(name, self.kernel.fork(self.actor.tid))

    def _do_clone_into(self, name: str, path: str) -> None:
        try:
            self.vfs.opendir(self._inode(path, follow=True), self.actor.caller)
        except OSError as error:
            raise _step(error, "open") from None
        child = self.kernel.clone_into(self.actor.tid, path, self.actor.caller)
        self._add(name, child)

    def _do_thread(self, name: str) -> None:
        self._add(name, self.kernel.fork(self.actor.tid, thread=True), thread=True)

    def _do_in(self, name: str, op: Op) -> Any:
        actor = self._named(name)
        if self._state(actor) != "S":
            raise _StepError("KILLED")
        if self._stopped(actor):
            raise _StepError("BLOCKED")
        before, self.actor = self.actor, actor
        try:
            error, value = self.do(op)
        finally:
            self.actor = before
        if error is not None:
            raise _StepError(error)
        return value

    def _do_exit(self, status: int) -> None:
        self.actor.status = f"exit {status}"
        self._die(self.actor)

    def _die(self, actor: Actor) -> None:
        task = self.table.find(actor.tid)
        if task is None or task.zombie:
            return
        for tid in self.table.threads(task.tgid) if task.tid == task.tgid else [task.tid]:
            self.table.exit(tid)

    def _do_kill(self, name: str, signal: int) -> None:
        actor = self._named(name)
        task = self.table.find(actor.tid)
        if task is None:
            raise OSError(ESRCH, "")
        if signal != 9:
            raise UnsupportedError(f"signal {signal}")
        if self._held(actor):
            actor.doomed = True  # the signal waits for the thaw
            return
        for tid in self.table.threads(task.tgid):
            self.table.exit(tid)

    def _stopped(self, actor: Actor) -> bool:
        """Whether a task stands still in a frozen cgroup."""
        return any(hierarchy.cgroup_of(actor.tid).frozen for hierarchy in self.kernel.hierarchies)

    def _held(self, actor: Actor) -> bool:
        """Whether v1's freezer holds a task, against signals too."""
        return any(h.cgroup_of(actor.tid).frozen for h in self.kernel.hierarchies if not h.dfl)

    def _bury(self) -> None:
        """Tasks that were killed while frozen die once they are not."""
        for actor in self.actors.values():
            if actor.doomed and not self._held(actor):
                actor.doomed = False
                self._die(actor)

    def _do_wait(self, name: str) -> str:
        actor = self._named(name)
        state = self._state(actor)
        if state == "gone":
            raise OSError(ECHILD, "")
        if state != "Z":
            raise _StepError("BLOCKED")
        self.table.reap(actor.tid)
        self.kernel.task_reaped(actor.tid)
        return actor.status

    def _do_state(self, name: str) -> str:
        state = self._state(self._named(name))
        if state == "S":
            raise UnsupportedError("the state of a live process", ends=False)
        return state

    def _do_proc(self, name: str, file: str) -> str:
        if file != "cgroup":
            raise UnsupportedError(f"/proc/PID/{file}", ends=False)
        actor = self._named(name)
        if self.table.find(actor.tid) is None:
            raise _StepError("ENOENT@open")
        places = self.kernel.cgroup_of(actor.tid)
        return "".join(f"{1 if names else 0}:{names}:{path}\n" for names, path in places.items())

    # -- CPUs -------------------------------------------------------------------------------------

    def _do_affinity(self, name: str) -> int:
        return self.kernel.affinity(self._named(name).tid)

    def _do_set_affinity(self, name: str, mask: int) -> None:
        self.kernel.set_affinity(self._named(name).tid, mask, self.actor.caller)

    def _do_cpu(self, number: int, data: bytes) -> None:
        try:
            online_files.check_writer(number, self.kernel.cpus, self.actor.caller)
        except OSError as error:
            raise _step(error, "open") from None
        try:
            online = online_files.parse(_text(data), self.kernel.personality, now=number in self.kernel.cpus)
            self.kernel.set_cpu_online(number, online)
        except OSError as error:
            raise _step(error, "write") from None
        finally:
            self._do_settle(_HOTPLUG)

    def _do_cpus(self, name: str) -> str:
        cpus = self.kernel.cpus
        lists = {"online": cpus.online, "offline": cpus.offline, "possible": cpus.possible, "present": cpus.possible}
        return cpu_list(numbers_of(lists[name])) + "\n"

    def _release(self, agent: str, path: str, setter: Caller) -> None:
        if agent == _AGENT:  # the one program here
            self.released.append(path)

    def _do_releases(self, count: int, what: str) -> list[str]:
        found, self.released = self.released, []
        if what != "argument":
            raise UnsupportedError("the process of a release agent", ends=False)
        return sorted(_text(os.fsencode(path)) for path in found)

    def _do_settle(self, milliseconds: int) -> None:
        """The one thing that takes time here."""
        end = self.now + milliseconds * 1_000_000
        due = sorted((entry for entry in self.later if entry[0] <= end), key=lambda entry: entry[0])
        self.later = [entry for entry in self.later if entry[0] > end]
        for when, file in due:
            self._pass(when)
            file.cgroup.notify_now(file)
        self._pass(end)

    def _pass(self, until: int) -> None:
        """Let time pass, for simulated processes too."""
        if self.held:
            self.kernel.advance_ns(max(0, until - self.now))
        self.now = until

    def _do_alloc(self, size: int) -> None:
        """Ask for more memory. The caller waits for 1.5 s at most."""
        pid = self.actor.tid
        self.held[pid] = self.held.get(pid, 0) + size
        phase = {"for": "24h", "memory": self.held[pid], "kernel": _OF_THE_KERNEL}
        self.kernel.employ(pid, Workload([phase]))
        for _ in range(75):
            self._pass(self.now + 20_000_000)
            if self._state(self.actor) != "S":
                raise _StepError("KILLED")
            use = self.table.memory(pid).use
            if use.anon + use.swap >= self.held[pid]:
                if use.swap:
                    raise UnsupportedError("the time that reclaim takes", ends=False)
                return
        raise _StepError("BLOCKED")


def _outside(given: int, own: int) -> int:
    """The id that is meant in a user namespace that has 0 alone for one's own. Raises EINVAL for another."""
    if given == -1:
        return -1
    if given:
        raise OSError(EINVAL, "")
    return own


def _inside(*paths: str) -> None:
    """What a case names by an absolute path is in another file system."""
    if any(path.startswith("/") for path in paths):
        raise OSError(EXDEV, "")


def _short(written: int, data: bytes) -> int | None:
    return None if written == len(data) else written


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
