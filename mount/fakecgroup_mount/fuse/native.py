"""The native transport: the /dev/fuse protocol against the model, one request at a time.

Names and attributes are cached by nobody (their timeouts are 0), so what programs see is what the model says at that
moment. The kernel module leaves permissions to us, as there is no `default_permissions`: the model judges them.

What the kernel in between keeps for itself, so that no FUSE file system can do as a cgroup file system does:

* statfs shows FUSE's type, and mountinfo `fuse.fakecgroup`;
* the directories of v1 are one mount: renames between two hierarchies that could not be made in one either (to a
  descendant, an exchange with nothing) are refused for that, not with EXDEV;
* a write of no bytes and the position of an open file do not reach us;
* setxattr looks at system.posix_acl_access and security.* before we do.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from errno import (
    EAGAIN,
    ECONNABORTED,
    EINTR,
    EINVAL,
    EIO,
    ENODATA,
    ENODEV,
    ENOENT,
    ENOMEM,
    ENOSYS,
    ENOTTY,
    EPROTO,
    ERANGE,
)
from functools import partial
from io import FileIO
from itertools import count
from struct import Struct
from typing import NoReturn

from fakecgroup import Caller, Kernel, OpenFile
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.kernfs.inode import Inode, Stat
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.about import about
from fakecgroup_mount.fuse.delayed_notify import DelayedNotifier
from fakecgroup_mount.fuse.listing import DT_DIR, Listing
from fakecgroup_mount.fuse.modify_events import ModifyEvents
from fakecgroup_mount.fuse.splicing import (
    COPY_SECONDS,
    READABLE_SIZE,
    CachedRead,
    CacheInvalidator,
    inval_attributes,
    notify,
    store_last_byte,
)
from fakecgroup_mount.host.descriptors import Descriptors
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.mountinfo import device_at
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.shortage import MemoryHeadroom, is_shortage, reply_errno

Handler = Callable[[int, int, Caller, int], "bytes | None"]

log = logging.getLogger(__name__)

MAX_WRITE = 64 << 10
"""Bytes in one WRITE. No cgroup file takes as many (the longest value is a cpuset's list for 8192 CPUs, 49252 bytes),
so a longer write is E2BIG in its first part as it is whole."""

_OPEN_FLAGS = wire.FOPEN_DIRECT_IO | wire.FOPEN_NOFLUSH
_WANTED = (
    wire.ATOMIC_O_TRUNC
    | wire.BIG_WRITES
    | wire.PARALLEL_DIROPS
    | wire.MAX_PAGES
    | wire.CACHE_SYMLINKS
    | wire.HANDLE_KILLPRIV_V2  # without it a GETXATTR of security.capability precedes every write, not one per LOOKUP
)
_CHANGING = frozenset((wire.WRITE, wire.MKDIR, wire.RMDIR))
"""Requests after which a file may read otherwise."""
_COPIED = 64  # files, before those that were not copied lately are looked for
_PAGE = 4096
_NS = 1_000_000_000
_ENCODING = sys.getfilesystemencoding()
_ERRORS = sys.getfilesystemencodeerrors()
_ZOMBIES = 1000  # ms between two looks at them when nothing happens
_FAILED = 100  # ms until what has exited is looked at again, where that could not be done
_CALLERS = 256  # whoever made the last requests; RELEASE comes from nobody

# The parts of requests that are used, unpacked without the rest.
_HEADER = Struct("=4xIQQIII")  # opcode unique nodeid uid gid pid
_IN = wire.IN_SIZE
_OUT = wire.OUT_SIZE
_ENTRY = Struct("=IiQQQQQII")  # an entry or attr reply up to its struct fuse_attr
_ATTR = Struct("=IiQQII")
_DATA = Struct("=QqI")  # fh offset size: of READ, READDIR and WRITE
_READ = Struct("=QqII")  # and read_flags
_WRITTEN = _IN + wire.WRITE_IN.size  # where the data of a WRITE begins
_NAME = _IN + wire.GETXATTR_IN.size  # where the name of a GETXATTR begins
_CAPABILITY = b"security.capability\0"  # asked for before a write, to take the file's capabilities away
_FH = Struct("=Q")


class Node:
    """An inode that the kernel module knows, and how many of our replies have named it.

    `packed` is `stat` as a LOOKUP shows it: most are asked for again before they change. `files` have it open.
    """

    __slots__ = ("files", "id", "inode", "lookups", "packed", "stat")

    def __init__(self, node_id: int, inode: Inode) -> None:
        self.id = node_id
        self.inode = inode
        self.files = 0
        self.lookups = 0
        self.stat: Stat | None = None
        self.packed = b""


class Session:
    """The mount at `path`: answers the requests of `fd`, an open /dev/fuse, until it is unmounted.

    `path` may lead into another mount namespace; then `device` says what the mount's is ("0:42"). Whoever uses the
    model or the processes from another thread than the one in `serve` holds `lock`, but never while it asks the mount.
    """

    def __init__(
        self, fd: int, path: str, kernel: Kernel, ids: IdMap, processes: HostProcesses, *, device: str | None = None
    ) -> None:
        self.lock = threading.Lock()
        self.cgroup_root_of: Callable[[int], Cgroup | None] = lambda tid: None
        """The root of a thread's cgroup namespace, if that is not the initial one; by itself, a mount does not know."""
        self._fd = fd
        self._kernel = kernel
        self._vfs = kernel.vfs
        self._ids = ids
        self._shown_uid, self._shown_gid = ids.shown_uid, ids.shown_gid
        self._processes = processes
        self._buffer = bytearray(_WRITTEN + MAX_WRITE)
        self._view = memoryview(self._buffer)
        root = Node(wire.ROOT_ID, kernel.vfs.root)
        self._nodes = {root.id: root}
        self._node_of = {root.inode: root}
        self._extra_nodes: dict[Inode, list[Node]] = {}  # further nodes of a file that is or was copied
        self._copied_at: dict[Inode, float] = {}
        self._copied: dict[int, CachedRead] = {}  # by number of a node that is open
        self._invalidator = CacheInvalidator(fd)
        self._truncating: set[int] = set()  # handles that the module has made a file empty for, which others have open
        self._node_ids = count(wire.ROOT_ID + 1)
        self._handles = count(1)
        self._files: dict[int, OpenFile] = {}
        self._headroom = MemoryHeadroom(kernel)
        find_device = partial(device_at, path) if device is None else lambda: device
        self._descriptors = Descriptors(find_device, self._files.values)
        self._listings: dict[int, Listing | None] = {}  # by handle of a directory; None until its first READDIR
        self._pollers: dict[Inode, dict[int, int]] = {}  # file -> {handle: the kernel module's number for it}
        self._modify_events = ModifyEvents(path, kernel, self._nodes_of)
        self._handlers = self._table()
        kernel.on_notify = self._notify
        kernel.on_notify_later = DelayedNotifier(self.lock).add

    # -- the loop ---------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answers until the file system is unmounted, or `stop` is called and a signal comes."""
        fd = self._fd
        buffer = self._buffer
        handlers = self._handlers
        lock = self.lock
        copied, invalidator = self._copied, self._invalidator
        processes = self._processes
        watched = processes.watched
        exits = processes.exits.fileno()
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.register(exits, select.POLLIN)
        device = FileIO(fd, "r+", closefd=False)
        unpack_header, read, write = _HEADER.unpack_from, device.readinto, device.write
        callers: dict[tuple[int, int, int], Caller] = {}
        failed = False
        while True:
            if watched:
                ready = dict(poller.poll(_FAILED if failed else _ZOMBIES if processes.dead else None))
                if failed:
                    poller.register(exits, select.POLLIN)
                if failed or exits in ready or processes.dead:  # told before any request that was made later
                    failed = not self._report()
                    if failed:
                        poller.unregister(exits)
                if fd not in ready:
                    continue
            try:
                size = read(buffer)
            except OSError as error:
                if error.errno in (ENODEV, ECONNABORTED):  # unmounted; the second where a request was being read
                    return
                if error.errno in (ENOENT, EINTR, EAGAIN):  # the request was taken back
                    continue
                if error.errno == ENOMEM:
                    continue
                raise
            if not size:
                return
            opcode, unique, node_id, uid, gid, pid = unpack_header(buffer)
            try:
                caller = callers.get((uid, gid, pid))
                if caller is None:
                    if len(callers) == _CALLERS:
                        callers.clear()
                    caller = self._ids.caller(uid, gid, pid, self._descriptors.of(pid))
                    caller = callers[uid, gid, pid] = caller._replace(cgroup_root=partial(self._cgroup_root, pid))
                with lock:
                    reply = handlers[opcode](unique, node_id, caller, size)
            except OSError as error:
                reply = wire.OUT_HEADER.pack(_OUT, -reply_errno(error), unique)
            except MemoryError:
                reply = wire.OUT_HEADER.pack(_OUT, -ENOMEM, unique)
            except Exception:
                log.exception("opcode %d, node %d", opcode, node_id)
                reply = wire.OUT_HEADER.pack(_OUT, -EIO, unique)
            if reply is not None:
                if copied and opcode in _CHANGING:
                    invalidator.reply(copied.values(), pid, reply)
                    continue
                try:
                    write(reply)
                except OSError as error:
                    if error.errno not in (ENOENT, ENODEV):  # nobody waits for this answer any more
                        raise

    def _report(self) -> bool:
        """False where there was a shortage, and the model has to be told later of some that have exited."""
        try:
            with self.lock:
                self._processes.report(self._kernel)
        except Exception as error:
            log.exception("a process has exited")
            return not is_shortage(error)
        return True

    def _cgroup_root(self, tid: int) -> Cgroup | None:
        return self.cgroup_root_of(tid)

    def inode(self, ino: int) -> Inode | None:
        """The inode with this number, if a program has it open or in use in another way."""
        return next((inode for inode in list(self._node_of) if inode.ino == ino), None)

    def stop(self) -> None:
        """Cuts the connection: what is under way fails, and a `serve` that a signal wakes up returns."""
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, self._fd, inheritable=False)
        os.close(null)

    def _table(self) -> list[Handler]:
        """A handler for each opcode."""
        table: list[Handler] = [self._unknown] * wire.OPCODES
        for opcode, handler in (
            (wire.LOOKUP, self._lookup),
            (wire.FORGET, self._forget),
            (wire.BATCH_FORGET, self._batch_forget),
            (wire.GETATTR, self._getattr),
            (wire.SETATTR, self._setattr),
            (wire.READLINK, self._readlink),
            (wire.SYMLINK, self._symlink),
            (wire.MKNOD, self._mknod),
            (wire.MKDIR, self._mkdir),
            (wire.UNLINK, self._unlink),
            (wire.RMDIR, self._rmdir),
            (wire.RENAME, self._rename),
            (wire.RENAME2, self._rename2),
            (wire.LINK, self._link),
            (wire.CREATE, self._create),
            (wire.OPEN, self._open),
            (wire.READ, self._read),
            (wire.WRITE, self._write),
            (wire.FLUSH, self._flush),
            (wire.RELEASE, self._release),
            (wire.OPENDIR, self._opendir),
            (wire.READDIR, self._readdir),
            (wire.RELEASEDIR, self._releasedir),
            (wire.FSYNCDIR, self._fsyncdir),
            (wire.STATFS, self._statfs),
            (wire.ACCESS, self._access),
            (wire.SETXATTR, self._setxattr),
            (wire.GETXATTR, self._getxattr),
            (wire.LISTXATTR, self._listxattr),
            (wire.REMOVEXATTR, self._removexattr),
            (wire.POLL, self._poll),
            (wire.COPY_FILE_RANGE, self._copy_file_range),
            (wire.IOCTL, self._ioctl),
            (wire.INIT, self._init),
            (wire.INTERRUPT, self._no_reply),
            (wire.DESTROY, self._done),
        ):
            table[opcode] = handler
        return table

    # -- the connection ---------------------------------------------------------------------------

    def _init(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        major, minor, readahead, offered = wire.INIT_IN.unpack_from(self._buffer, _IN)
        if major < wire.VERSION or (major == wire.VERSION and minor < wire.OLDEST_MINOR):
            log.error("this kernel speaks FUSE %d.%d; 7.%d (Linux 5.4) is needed", major, minor, wire.OLDEST_MINOR)
            raise OSError(EPROTO, os.strerror(EPROTO))
        # A newer major version is answered with ours, and the kernel sends INIT again.
        return wire.INIT_OUT.pack(
            wire.INIT_OUT.size,
            0,
            unique,
            wire.VERSION,
            min(minor, wire.MINOR),
            readahead,
            offered & _WANTED,
            0,  # max_background, congestion_threshold: the kernel's own
            0,
            MAX_WRITE,
            1,  # ns
            MAX_WRITE // _PAGE + 1,  # a write need not start on a page
            0,
            0,
        )

    def _unknown(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        """ENOSYS: the kernel does without. FSYNC then succeeds, SEEK_DATA uses the size."""
        return wire.OUT_HEADER.pack(_OUT, -ENOSYS, unique)

    def _no_reply(self, unique: int, node_id: int, caller: Caller, size: int) -> None:
        """An INTERRUPT comes after the answer to what it would interrupt."""

    def _done(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    # -- nodes ------------------------------------------------------------------------------------

    def _name(self, start: int, end: int) -> str:
        """The name in the request between two offsets; a NUL ends it."""
        return self._buffer[start : end - 1].decode(_ENCODING, _ERRORS)

    def _two_names(self, start: int, end: int) -> tuple[str, str]:
        first, _, second = self._name(start, end).partition("\0")
        return first, second

    def _entry(self, unique: int, inode: Inode, node: Node | None = None) -> bytes:
        """The reply that gives the kernel module a reference to `inode`, or to one of its nodes."""
        known = node or self._node_of.get(inode)
        if known is None:
            known = Node(next(self._node_ids), inode)
            self._nodes[known.id] = self._node_of[inode] = known
        elif node is None and inode in self._copied_at:
            known = self._extra_node(known)
        node = known
        node.lookups += 1
        stat = self._vfs.getattr(inode)
        if stat != node.stat:
            node.stat = stat
            node.packed = self._pack(stat, READABLE_SIZE if isinstance(inode, CgroupFile) else stat.size)
        return _ENTRY.pack(wire.ENTRY_OUT.size, 0, unique, node.id, 0, 0, 0, 0, 0) + node.packed

    def _nodes_of(self, inode: Inode) -> int:
        """How many nodes a file has."""
        return 1 + len(self._extra_nodes.get(inode, ()))

    def _next_node(self, inode: Inode) -> Node | None:
        """One after another of a file's nodes."""
        extra = self._extra_nodes.get(inode)
        if extra:
            extra.append(self._node_of[inode])
            self._node_of[inode] = extra.pop(0)
        return self._node_of.get(inode)

    def _extra_node(self, node: Node) -> Node:
        """A node of the same file that nobody knows yet, for as long as the file is copied."""
        if time.monotonic() - self._copied_at[node.inode] > COPY_SECONDS:
            del self._copied_at[node.inode]
            return node
        own = Node(next(self._node_ids), node.inode)
        self._nodes[own.id] = own
        self._extra_nodes.setdefault(node.inode, []).append(own)
        return own

    def _attr(self, unique: int, stat: Stat) -> bytes:
        return _ATTR.pack(wire.ATTR_OUT.size, 0, unique, 0, 0, 0) + self._pack(stat, stat.size)

    def _pack(self, stat: Stat, size: int) -> bytes:
        """A struct fuse_attr."""
        ino, mode, nlink, uid, gid, _, atime, mtime, ctime, blksize, blocks = stat
        return wire.ATTR.pack(
            ino,
            size,
            blocks,
            atime // _NS,
            mtime // _NS,
            ctime // _NS,
            atime % _NS,
            mtime % _NS,
            ctime % _NS,
            mode,
            nlink,
            self._shown_uid.get(uid, uid),
            self._shown_gid.get(gid, gid),
            0,
            blksize,
            0,
        )

    def _lookup(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        name = self._buffer[_IN : size - 1].decode(_ENCODING, _ERRORS)
        inode = self._vfs.find(self._nodes[node_id].inode, name, caller)
        if inode is None:
            return wire.OUT_HEADER.pack(_OUT, -ENOENT, unique)
        if caller.pid == self._modify_events.tid:
            return self._entry(unique, inode, self._next_node(inode))
        return self._entry(unique, inode)

    def _forget(self, unique: int, node_id: int, caller: Caller, size: int) -> None:
        self._drop(node_id, *wire.FORGET_IN.unpack_from(self._buffer, _IN))

    def _batch_forget(self, unique: int, node_id: int, caller: Caller, size: int) -> None:
        number, _ = wire.BATCH_FORGET_IN.unpack_from(self._buffer, _IN)
        start = _IN + wire.BATCH_FORGET_IN.size
        for offset in range(start, start + number * wire.FORGET_ONE.size, wire.FORGET_ONE.size):
            self._drop(*wire.FORGET_ONE.unpack_from(self._buffer, offset))

    def _drop(self, node_id: int, lookups: int) -> None:
        node = self._nodes.get(node_id)
        if node is None or node_id == wire.ROOT_ID:
            return
        node.lookups -= lookups
        if node.lookups <= 0:
            del self._nodes[node_id]
            self._forget_node(node)

    def _forget_node(self, node: Node) -> None:
        inode = node.inode
        extra = self._extra_nodes.get(inode)
        if self._node_of[inode] is not node:
            assert extra is not None
            extra.remove(node)
        elif extra:
            self._node_of[inode] = extra.pop()
        else:
            del self._node_of[inode]
        if extra is not None and not extra:
            del self._extra_nodes[inode]

    def _getattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        inode = self._nodes[node_id].inode
        stat = self._vfs.getattr(inode)
        if isinstance(inode, CgroupFile):
            if wire.GETATTR_IN.unpack_from(self._buffer, _IN)[0] & wire.GETATTR_FH:  # for an lseek(2) to the end
                self._invalidator.enlarge_later(node_id)
            else:
                notify(self._fd, inval_attributes(node_id))
        return self._attr(unique, stat)

    def _setattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        (valid, _, fh, length, _, atime, mtime, _, atime_ns, mtime_ns, _, mode, _, uid, gid, _) = (
            wire.SETATTR_IN.unpack_from(self._buffer, _IN)
        )
        inode = self._nodes[node_id].inode
        stat = self._vfs.setattr(
            inode,
            caller,
            mode=mode & 0o7777 if valid & wire.FATTR_MODE else None,
            uid=self._ids.model_uid.get(uid, uid) if valid & wire.FATTR_UID else None,
            gid=self._ids.model_gid.get(gid, gid) if valid & wire.FATTR_GID else None,
            size=length if valid & wire.FATTR_SIZE else None,
            atime=_time(valid, wire.FATTR_ATIME, wire.FATTR_ATIME_NOW, atime * _NS + atime_ns),
            mtime=_time(valid, wire.FATTR_MTIME, wire.FATTR_MTIME_NOW, mtime * _NS + mtime_ns),
            handle=self._files.get(fh) if valid & wire.FATTR_FH else None,
            chown=not valid & ~wire.FATTR_KILL_SUIDGID,  # which else than chown(2) changes nothing
        )
        if isinstance(inode, CgroupFile):  # the module shows nobody what it is told here
            stat = stat._replace(size=READABLE_SIZE)
        return self._attr(unique, stat)

    def _access(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        mask, _ = wire.ACCESS_IN.unpack_from(self._buffer, _IN)
        inode = self._nodes[node_id].inode
        self._vfs.access(inode, mask, self._ids.for_access(caller, mask, inode))
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _statfs(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        shown = self._vfs.statfs(self._nodes[node_id].inode)
        return wire.STATFS_OUT.pack(
            wire.STATFS_OUT.size, 0, unique, 0, 0, 0, 0, 0, shown.bsize, shown.namelen, shown.bsize, 0
        )

    # -- directories ------------------------------------------------------------------------------

    def _mkdir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        self._headroom.require()
        mode, _ = wire.MKDIR_IN.unpack_from(self._buffer, _IN)
        name = self._name(_IN + wire.MKDIR_IN.size, size)
        return self._entry(unique, self._vfs.mkdir(self._nodes[node_id].inode, name, mode & 0o7777, caller))

    def _rmdir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        self._vfs.rmdir(self._nodes[node_id].inode, self._name(_IN, size), caller)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _unlink(self, unique: int, node_id: int, caller: Caller, size: int) -> NoReturn:
        self._vfs.unlink(self._nodes[node_id].inode, self._name(_IN, size), caller)
        raise AssertionError("the model removed a file")

    def _rename(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        (new_parent,) = wire.RENAME_IN.unpack_from(self._buffer, _IN)
        names = self._two_names(_IN + wire.RENAME_IN.size, size)
        return self._renamed(unique, node_id, new_parent, names, 0, caller)

    def _rename2(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        new_parent, flags, _ = wire.RENAME2_IN.unpack_from(self._buffer, _IN)
        names = self._two_names(_IN + wire.RENAME2_IN.size, size)
        return self._renamed(unique, node_id, new_parent, names, flags, caller)

    def _renamed(
        self, unique: int, parent: int, new_parent: int, names: tuple[str, str], flags: int, caller: Caller
    ) -> bytes:
        name, new_name = names
        self._vfs.rename(self._nodes[parent].inode, name, self._nodes[new_parent].inode, new_name, flags, caller)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _create(self, unique: int, node_id: int, caller: Caller, size: int) -> NoReturn:
        _, mode, _, _ = wire.CREATE_IN.unpack_from(self._buffer, _IN)
        name = self._name(_IN + wire.CREATE_IN.size, size)
        self._vfs.create(self._nodes[node_id].inode, name, mode & 0o7777, caller)
        raise AssertionError("the model made a file")

    def _mknod(self, unique: int, node_id: int, caller: Caller, size: int) -> NoReturn:
        mode, rdev, _, _ = wire.MKNOD_IN.unpack_from(self._buffer, _IN)
        self._vfs.mknod(self._nodes[node_id].inode, self._name(_IN + wire.MKNOD_IN.size, size), mode, rdev, caller)
        raise AssertionError("the model made a node")

    def _symlink(self, unique: int, node_id: int, caller: Caller, size: int) -> NoReturn:
        name, target = self._two_names(_IN, size)
        self._vfs.symlink(self._nodes[node_id].inode, name, target, caller)
        raise AssertionError("the model made a link")

    def _link(self, unique: int, node_id: int, caller: Caller, size: int) -> NoReturn:
        (old,) = wire.LINK_IN.unpack_from(self._buffer, _IN)
        name = self._name(_IN + wire.LINK_IN.size, size)
        self._vfs.link(self._nodes[old].inode, self._nodes[node_id].inode, name, caller)
        raise AssertionError("the model made a link")

    def _readlink(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        return _reply(unique, os.fsencode(self._vfs.readlink(self._nodes[node_id].inode)))

    def _opendir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        self._vfs.opendir(self._nodes[node_id].inode, caller)
        handle = next(self._handles)
        self._listings[handle] = None
        return wire.OPEN_OUT.pack(wire.OPEN_OUT.size, 0, unique, handle, 0, 0)

    def _readdir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        """Entries from a list that is made anew at the start: what comes and goes meanwhile shifts nothing."""
        handle, offset, limit = _DATA.unpack_from(self._buffer, _IN)
        listing = self._listings[handle]
        if not offset or listing is None:
            listing = self._listings[handle] = self._list(self._nodes[node_id].inode)
        return _reply(unique, listing.part(offset, limit))

    def _list(self, inode: Inode) -> Listing:
        parent = inode.parent if isinstance(inode, Cgroup) else None
        above = inode.ino if parent is None else parent.ino
        return Listing([(".", inode.ino, DT_DIR), ("..", above, DT_DIR), *self._vfs.readdir(inode)])

    def _releasedir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        del self._listings[_FH.unpack_from(self._buffer, _IN)[0]]
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _fsyncdir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        """EINVAL: the directories of kernfs have no fsync."""
        return wire.OUT_HEADER.pack(_OUT, -EINVAL, unique)

    # -- files ------------------------------------------------------------------------------------

    def _open(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        flags, _ = wire.OPEN_IN.unpack_from(self._buffer, _IN)
        node = self._nodes[node_id]
        file = self._vfs.open(node.inode, flags, caller)
        handle = next(self._handles)
        node.files += 1
        opened = _OPEN_FLAGS
        if flags & os.O_TRUNC and node.files > 1:
            self._truncating.add(handle)
            opened &= ~wire.FOPEN_NOFLUSH
        self._files[handle] = file
        return wire.OPEN_OUT.pack(wire.OPEN_OUT.size, 0, unique, handle, opened, 0)

    def _read(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        handle, offset, length, flags = _READ.unpack_from(self._buffer, _IN)
        if not flags & wire.READ_LOCKOWNER:
            self._note_copy(self._nodes[node_id], caller.pid)
        data = self._files[handle].read(offset, length, caller)
        return wire.OUT_HEADER.pack(_OUT + len(data), 0, unique) + data

    def _enlarge(self, handle: int, node_id: int) -> None:
        """Whoever has the file open can go on to copy it, after an open(2) with O_TRUNC."""
        self._truncating.remove(handle)
        notify(self._fd, store_last_byte(node_id))

    def _note_copy(self, node: Node, tid: int) -> None:
        copied = self._copied.get(node.id)
        if copied is None:
            copied = self._copied[node.id] = CachedRead(node.id, tid)
        copied.tid, copied.when = tid, time.monotonic()
        if node.inode not in self._copied_at and len(self._copied_at) >= _COPIED:
            self._copied_at = {inode: at for inode, at in self._copied_at.items() if copied.when - at < COPY_SECONDS}
        self._copied_at[node.inode] = copied.when

    def _write(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        handle, _, length = _DATA.unpack_from(self._buffer, _IN)
        data = self._view[_WRITTEN : _WRITTEN + length].tobytes()
        if handle in self._truncating:
            self._enlarge(handle, node_id)
        written = self._files[handle].write(data, caller)
        return wire.WRITE_OUT.pack(wire.WRITE_OUT.size, 0, unique, written, 0)

    def _flush(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        (handle,) = _FH.unpack_from(self._buffer, _IN)
        if handle in self._truncating:
            self._enlarge(handle, node_id)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _release(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        (handle,) = _FH.unpack_from(self._buffer, _IN)
        file = self._files.pop(handle)
        node = self._nodes[node_id]
        node.files -= 1
        if not node.files and node_id in self._copied:
            self._copied.pop(node_id).over = True
        if self._pollers and file.inode in self._pollers:
            self._pollers[file.inode].pop(handle, None)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _copy_file_range(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        """No bytes, as files have the size 0."""
        return wire.WRITE_OUT.pack(wire.WRITE_OUT.size, 0, unique, 0, 0)

    def _ioctl(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        return wire.OUT_HEADER.pack(_OUT, -ENOTTY, unique)

    def _poll(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        handle, kernel_handle, flags, _ = wire.POLL_IN.unpack_from(self._buffer, _IN)
        file = self._files[handle]
        if flags & wire.POLL_SCHEDULE_NOTIFY:
            self._pollers.setdefault(file.inode, {})[handle] = kernel_handle
        return wire.POLL_OUT.pack(wire.POLL_OUT.size, 0, unique, file.poll(), 0)

    def _notify(self, file: CgroupFile) -> None:
        """Wakes up who polls `file`, and they ask again with POLL; tells who watches it, if anyone can."""
        if file in self._node_of:  # a watch keeps it known; kernfs_notify_workfn does not bother about others either
            self._modify_events.add(file)
        for handle, kernel_handle in self._pollers.pop(file, {}).items():
            if not self._files[handle].hears:
                continue
            try:
                os.write(
                    self._fd,
                    wire.NOTIFY_POLL_OUT.pack(wire.NOTIFY_POLL_OUT.size, wire.NOTIFY_POLL, 0, kernel_handle),
                )
            except OSError as error:
                if error.errno not in (ENOENT, ENODEV):
                    raise

    # -- extended attributes ----------------------------------------------------------------------

    def _setxattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        length, flags = wire.SETXATTR_IN.unpack_from(self._buffer, _IN)
        value = self._view[size - length : size].tobytes()
        name = self._name(_IN + wire.SETXATTR_IN.size, size - length)
        self._vfs.setxattr(self._nodes[node_id].inode, name, value, flags, caller)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _getxattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        if (
            node_id != wire.ROOT_ID
            and self._nodes[node_id].inode.xattrs is None
            and self._buffer.startswith(_CAPABILITY, _NAME)
        ):
            return wire.OUT_HEADER.pack(_OUT, -ENODATA, unique)
        limit, _ = wire.GETXATTR_IN.unpack_from(self._buffer, _IN)
        name = self._name(_NAME, size)
        if node_id == wire.ROOT_ID and (said := about(name, self._kernel, "native")) is not None:
            return _sized(unique, said, limit)
        return _sized(unique, self._vfs.getxattr(self._nodes[node_id].inode, name, caller), limit)

    def _listxattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        limit, _ = wire.GETXATTR_IN.unpack_from(self._buffer, _IN)
        names = self._vfs.listxattr(self._nodes[node_id].inode, caller)
        return _sized(unique, b"".join(os.fsencode(name) + b"\0" for name in names), limit)

    def _removexattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        self._vfs.removexattr(self._nodes[node_id].inode, self._name(_IN, size), caller)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)


def _reply(unique: int, data: bytes) -> bytes:
    return wire.OUT_HEADER.pack(_OUT + len(data), 0, unique) + data


def _sized(unique: int, data: bytes, limit: int) -> bytes:
    """The reply to a caller with a buffer of `limit` bytes; 0 asks for the length, too few are ERANGE."""
    if not limit:
        return wire.GETXATTR_OUT.pack(wire.GETXATTR_OUT.size, 0, unique, len(data), 0)
    if len(data) > limit:
        return wire.OUT_HEADER.pack(_OUT, -ERANGE, unique)
    return _reply(unique, data)


def _time(valid: int, given: int, now: int, value: int) -> int | None:
    """A time of a SETATTR in ns, or None where it stays."""
    if valid & now:
        return time.time_ns()
    return value if valid & given else None
