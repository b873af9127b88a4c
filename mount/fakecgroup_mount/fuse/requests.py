"""The answers of the native transport: one method for each FUSE opcode (include/uapi/linux/fuse.h).

A method reads its request from the session's buffer and returns the reply, or None for a request without one. It raises
OSError for an errno. The session calls it with the model's lock held.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from errno import EINVAL, ENODATA, ENOENT, ENOSYS, ENOTTY, ENXIO, EPROTO, ERANGE, ESTALE
from itertools import count
from struct import Struct
from typing import NoReturn

from fakecgroup import Caller, Kernel, OpenFile
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup.kernfs.inode import Inode, Stat
from fakecgroup_mount.control.directory import CONTROL_XATTR
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.about import about
from fakecgroup_mount.fuse.listing import END, Listing
from fakecgroup_mount.fuse.listings import Listings
from fakecgroup_mount.fuse.modify_events import ModifyEvents
from fakecgroup_mount.fuse.nodes import Node, Nodes
from fakecgroup_mount.fuse.pollers import Pollers
from fakecgroup_mount.fuse.remembered_names import LONG, SEARCHABLE, RememberedNames
from fakecgroup_mount.fuse.splicing import (
    READABLE_SIZE,
    CacheInvalidator,
    Copies,
    inval_attributes,
    notify,
    store_last_byte,
)
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.shortage import MemoryHeadroom

Handler = Callable[[int, int, Caller, int], "bytes | None"]
"""Takes the request's unique number, node id and caller, and the request's size in bytes."""

log = Log(__name__)

MAX_WRITE = 64 << 10
"""Bytes in one WRITE. The longest value that a cgroup file takes is shorter (a cpuset's list for 8192 CPUs, 49252
bytes). So the first part of a longer write is E2BIG, as the whole write is."""

BUFFER_SIZE = wire.IN_SIZE + wire.WRITE_IN.size + MAX_WRITE
"""Bytes of the longest request."""

_OPEN_FLAGS = wire.FOPEN_DIRECT_IO | wire.FOPEN_NOFLUSH
_WANTED = (
    wire.ATOMIC_O_TRUNC
    | wire.BIG_WRITES
    | wire.PARALLEL_DIROPS
    | wire.MAX_PAGES
    | wire.CACHE_SYMLINKS
    | wire.HANDLE_KILLPRIV_V2  # without it a GETXATTR of security.capability precedes every write, not one per LOOKUP
)
_PAGE = 4096
_NS = 1_000_000_000
_ENCODING = sys.getfilesystemencoding()
_ERRORS = sys.getfilesystemencodeerrors()

# The fields of requests that are used, unpacked without the rest.
_IN = wire.IN_SIZE
_OUT = wire.OUT_SIZE
_ENTRY = Struct("=IiQQQQQII")  # an entry reply up to its struct fuse_attr
_ATTR = Struct("=IiQQII")  # an attr reply, likewise
_SIZE, _NO_SIZE = 8, bytes(8)  # where a struct fuse_attr has the size, and a size of 0
_DATA = Struct("=QqI")  # fh offset size: of READ, READDIR and WRITE
_READ = Struct("=QqII")  # and read_flags
_WRITTEN = _IN + wire.WRITE_IN.size  # where the data of a WRITE begins
_NAME = _IN + wire.GETXATTR_IN.size  # where the name of a GETXATTR begins
_CAPABILITY = b"security.capability\0"  # the kernel asks for it before a write that would remove it
_FH = Struct("=Q")


class Requests:
    """Answers requests in `buffer`, of which a request fills the first bytes.

    `fd` is the open /dev/fuse, for notifications.
    """

    def __init__(
        self,
        fd: int,
        buffer: bytearray,
        kernel: Kernel,
        ids: IdMap,
        nodes: Nodes,
        names: RememberedNames,
        modify_events: ModifyEvents,
    ) -> None:
        self.files: dict[int, OpenFile] = {}
        self.control_socket = b""
        self.copies = Copies()
        self.pollers = Pollers(fd, self.files)
        self._fd = fd
        self._buffer = buffer
        self._view = memoryview(buffer)
        self._kernel = kernel
        self._vfs = kernel.vfs
        self._ids = ids
        self._shown_uid, self._shown_gid = ids.shown_uid, ids.shown_gid
        self._table = nodes
        self._nodes, self._node_of = nodes.by_id, nodes.by_inode
        self._copied, self._copied_at = self.copies.open, self.copies.last
        self._closing = names.closing
        self._waiting = self.pollers.waiting
        self._names = names
        self._modify_events = modify_events
        self.invalidator = CacheInvalidator(fd)
        self._headroom = MemoryHeadroom(kernel)
        self._handles = count(1)
        self.listings = Listings()
        self._truncated: set[int] = set()  # handles opened with O_TRUNC while others have the file open

    def adopt_vfs(self) -> None:
        """Takes the model's system calls as they are now."""
        self._vfs = self._kernel.vfs

    def handlers(self) -> list[Handler]:
        """The handler for each opcode."""
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
            (wire.LSEEK, self._lseek),
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
        self._names.begin(minor)
        # The kernel answers a lower major version with a second INIT.
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
        """ENOSYS: the kernel module does without this request. FSYNC then succeeds."""
        return wire.OUT_HEADER.pack(_OUT, -ENOSYS, unique)

    def _no_reply(self, unique: int, node_id: int, caller: Caller, size: int) -> None:
        """An INTERRUPT arrives after the reply to the request that it would interrupt."""

    def _done(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    # -- nodes ------------------------------------------------------------------------------------

    def _name(self, start: int, end: int) -> str:
        """The name between two offsets of the request. A NUL ends it."""
        return self._buffer[start : end - 1].decode(_ENCODING, _ERRORS)

    def _two_names(self, start: int, end: int) -> tuple[str, str]:
        first, _, second = self._name(start, end).partition("\0")
        return first, second

    def _entry(self, unique: int, parent: Node, inode: Inode, node: Node | None = None) -> bytes:
        """A reply that gives the kernel module a reference to the entry `inode`, or to this one of its nodes."""
        known = node or self._node_of.get(inode)
        if known is None:
            known = self._table.add(inode)
        elif node is None and inode in self._copied_at and self.copies.is_recent(inode):
            node = known = self._table.add_extra(inode)
        seconds = self._names.seconds(parent, known) if node is None else 0
        node = known
        node.lookups += 1
        stat = self._vfs.getattr(inode)
        # of a directory they are seldom asked for again: the module remembers them
        packed = self._pack(stat, stat.size) if inode.is_dir else self._packed(node, stat)
        return _ENTRY.pack(wire.ENTRY_OUT.size, 0, unique, node.id, 0, seconds, 0, 0, 0) + packed

    def _packed(self, node: Node, stat: Stat) -> bytes:
        """The struct fuse_attr of a node as a LOOKUP reply has it. The node keeps it."""
        if stat != node.stat:
            node.stat = stat
            node.packed = self._pack(stat, READABLE_SIZE if isinstance(node.inode, CgroupFile) else stat.size)
        return node.packed

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

    def _lookup(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes | None:
        name = self._buffer[_IN : size - 1].decode(_ENCODING, _ERRORS)
        parent = self._nodes[node_id]
        inode = self._vfs.find(parent.inode, name, caller)
        if inode is None:
            return wire.OUT_HEADER.pack(_OUT, -ENOENT, unique)
        if caller.pid == self._modify_events.tid:
            return self._entry(unique, parent, inode, self._table.next_of(inode))
        reply = self._entry(unique, parent, inode)
        if inode in self._closing:
            self._closing[inode].append(reply)
            return None
        return reply

    def _forget(self, unique: int, node_id: int, caller: Caller, size: int) -> None:
        self._table.forget(node_id, *wire.FORGET_IN.unpack_from(self._buffer, _IN))

    def _batch_forget(self, unique: int, node_id: int, caller: Caller, size: int) -> None:
        number, _ = wire.BATCH_FORGET_IN.unpack_from(self._buffer, _IN)
        start = _IN + wire.BATCH_FORGET_IN.size
        for offset in range(start, start + number * wire.FORGET_ONE.size, wire.FORGET_ONE.size):
            self._table.forget(*wire.FORGET_ONE.unpack_from(self._buffer, offset))

    def _getattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        node = self._nodes[node_id]
        if node.attributes:  # whoever changes them forgets them
            return _ATTR.pack(wire.ATTR_OUT.size, 0, unique, LONG, 0, 0) + node.packed
        inode = node.inode
        stat = self._vfs.stat(inode, caller)
        # The root tells of a dead daemon. The module itself takes the links of a removed directory away.
        if inode.is_dir and node_id != wire.ROOT_ID and inode.alive and self._names.remembering:
            node.attributes = True
            return _ATTR.pack(wire.ATTR_OUT.size, 0, unique, LONG, 0, 0) + self._packed(node, stat)
        if isinstance(inode, CgroupFile):
            if wire.GETATTR_IN.unpack_from(self._buffer, _IN)[0] & wire.GETATTR_FH:  # lseek(2) with SEEK_END
                self.invalidator.enlarge_later(node_id, self.copies.open)
            else:
                notify(self._fd, inval_attributes(node_id))
            packed = self._packed(node, stat)
            head = _ATTR.pack(wire.ATTR_OUT.size, 0, unique, 0, 0, 0)
            return b"".join((head, packed[:_SIZE], _NO_SIZE, packed[_SIZE + len(_NO_SIZE) :]))
        return self._attr(unique, stat)

    def _setattr(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        (valid, _, fh, length, _, atime, mtime, _, atime_ns, mtime_ns, _, mode, _, uid, gid, _) = (
            wire.SETATTR_IN.unpack_from(self._buffer, _IN)
        )
        node = self._nodes[node_id]
        inode = node.inode
        closed: list[Node] = []
        if inode.is_dir and valid & wire.FATTR_MODE and mode & SEARCHABLE != SEARCHABLE:
            closed = self._names.below(inode)
            if self._names.must_repeat_chmod(caller.pid, node, closed):
                raise OSError(ESTALE, os.strerror(ESTALE))
        stat = self._vfs.setattr(
            inode,
            caller,
            mode=mode & 0o7777 if valid & wire.FATTR_MODE else None,
            uid=self._ids.model_uid.get(uid, uid) if valid & wire.FATTR_UID else None,
            gid=self._ids.model_gid.get(gid, gid) if valid & wire.FATTR_GID else None,
            size=length if valid & wire.FATTR_SIZE else None,
            atime=_time(valid, wire.FATTR_ATIME, wire.FATTR_ATIME_NOW, atime * _NS + atime_ns),
            mtime=_time(valid, wire.FATTR_MTIME, wire.FATTR_MTIME_NOW, mtime * _NS + mtime_ns),
            handle=self.files.get(fh) if valid & wire.FATTR_FH else None,
            chown=not valid & ~wire.FATTR_KILL_SUIDGID,  # a SETATTR without fields is chown(2) with -1 and -1
        )
        self._names.forget_attributes(node)
        if closed or (self._closing and inode in self._closing):
            self._names.close_late(inode, closed)
        if isinstance(inode, CgroupFile):  # no program sees this reply's size
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
        parent = self._nodes[node_id]
        return self._entry(unique, parent, self._vfs.mkdir(parent.inode, name, mode & 0o7777, caller))

    def _rmdir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        parent, name = self._nodes[node_id].inode, self._name(_IN, size)
        victim = parent.children.get(name) if isinstance(parent, Cgroup) else None
        if victim is not None and victim.files:
            used = [node for node in self._names.below(victim) if node.files]
            if self._names.must_retry(caller.pid, victim, used):
                raise OSError(ESTALE, os.strerror(ESTALE))
        self._names.removing = victim
        try:
            self._vfs.rmdir(parent, name, caller)
        finally:
            self._names.removing = None
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
        node = self._nodes[node_id]
        self._vfs.opendir(node.inode, caller)
        node.files += 1
        return wire.OPEN_OUT.pack(wire.OPEN_OUT.size, 0, unique, next(self._handles), 0, 0)

    def _readdir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        _, position, limit = _DATA.unpack_from(self._buffer, _IN)
        if position == END:  # every reader asks once more when it has the whole list
            return wire.OUT_HEADER.pack(_OUT, 0, unique)
        part = self._list(self._nodes[node_id].inode).part(position, limit)
        return wire.OUT_HEADER.pack(_OUT + len(part), 0, unique) + part

    def _list(self, inode: Inode) -> Listing:
        if isinstance(inode, Cgroup):
            hidden = self._vfs.hidden(inode)
            return self.listings.without(inode, hidden) if hidden else self.listings.of(inode)
        return Listing.in_turn(inode.ino, inode.ino, self._vfs.readdir(inode))

    def _releasedir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        self._nodes[node_id].files -= 1
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _fsyncdir(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        """EINVAL: kernfs directories have no fsync."""
        return wire.OUT_HEADER.pack(_OUT, -EINVAL, unique)

    # -- files ------------------------------------------------------------------------------------

    def _open(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        flags, _ = wire.OPEN_IN.unpack_from(self._buffer, _IN)
        node = self._nodes[node_id]
        file = self._vfs.open(node.inode, flags, caller)
        handle = next(self._handles)
        node.files += 1
        opened = _OPEN_FLAGS
        if flags & os.O_TRUNC and (node.files > 1 or node.within is not None):
            self._truncated.add(handle)
            opened &= ~wire.FOPEN_NOFLUSH
        self.files[handle] = file
        return wire.OPEN_OUT.pack(wire.OPEN_OUT.size, 0, unique, handle, opened, 0)

    def _read(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        handle, offset, length, flags = _READ.unpack_from(self._buffer, _IN)
        if not flags & wire.READ_LOCKOWNER:
            node = self._nodes[node_id]
            self.copies.note(node_id, node.inode, caller.pid)
            if node.within is not None:
                self._names.take_back_soon(node)
        data = self.files[handle].read(offset, length, caller)
        return wire.OUT_HEADER.pack(_OUT + len(data), 0, unique) + data

    def _enlarge(self, handle: int, node_id: int) -> None:
        """Lets other programs go on copying a file that an open(2) with O_TRUNC has made empty for the module."""
        self._truncated.remove(handle)
        notify(self._fd, store_last_byte(node_id))

    def _write(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        handle, _, length = _DATA.unpack_from(self._buffer, _IN)
        data = self._view[_WRITTEN : _WRITTEN + length].tobytes()
        if handle in self._truncated:
            self._enlarge(handle, node_id)
        written = self.files[handle].write(data, caller)
        return wire.WRITE_OUT.pack(wire.WRITE_OUT.size, 0, unique, written, 0)

    def _flush(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        (handle,) = _FH.unpack_from(self._buffer, _IN)
        if handle in self._truncated:
            self._enlarge(handle, node_id)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _release(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        (handle,) = _FH.unpack_from(self._buffer, _IN)
        file = self.files.pop(handle)
        node = self._nodes[node_id]
        node.files -= 1
        if not node.files and node_id in self._copied:
            self.copies.close(node_id)
        if self._waiting and file.inode in self._waiting:
            self._waiting[file.inode].pop(handle, None)
        return wire.OUT_HEADER.pack(_OUT, 0, unique)

    def _lseek(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        """ENXIO for SEEK_DATA and SEEK_HOLE: a file of size 0 has neither (generic_file_llseek_size).

        The kernel module asks for these two alone. By itself it would answer from the size that it has cached.
        """
        return wire.OUT_HEADER.pack(_OUT, -ENXIO, unique)

    def _copy_file_range(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        """Copies no bytes, as files have the size 0."""
        return wire.WRITE_OUT.pack(wire.WRITE_OUT.size, 0, unique, 0, 0)

    def _ioctl(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        return wire.OUT_HEADER.pack(_OUT, -ENOTTY, unique)

    def _poll(self, unique: int, node_id: int, caller: Caller, size: int) -> bytes:
        handle, kernel_handle, flags, _ = wire.POLL_IN.unpack_from(self._buffer, _IN)
        file = self.files[handle]
        if flags & wire.POLL_SCHEDULE_NOTIFY:
            self.pollers.add(file.inode, handle, kernel_handle)
        return wire.POLL_OUT.pack(wire.POLL_OUT.size, 0, unique, file.poll(), 0)

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
        inode = self._nodes[node_id].inode
        if name == CONTROL_XATTR and self.control_socket and (node_id == wire.ROOT_ID or _is_root(inode)):
            return _sized(unique, self.control_socket, limit)
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


def _is_root(inode: Inode) -> bool:
    return isinstance(inode, Cgroup) and inode.is_root


def _sized(unique: int, data: bytes, limit: int) -> bytes:
    """The reply to a caller with a buffer of `limit` bytes. 0 asks for the length; a short buffer is ERANGE."""
    if not limit:
        return wire.GETXATTR_OUT.pack(wire.GETXATTR_OUT.size, 0, unique, len(data), 0)
    if len(data) > limit:
        return wire.OUT_HEADER.pack(_OUT, -ERANGE, unique)
    return _reply(unique, data)


def _time(valid: int, given: int, now: int, value: int) -> int | None:
    """A time of a SETATTR in ns; None leaves it as it is."""
    if valid & now:
        return time.time_ns()
    return value if valid & given else None
