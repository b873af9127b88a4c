"""Directories of sysfs that tell of the stated machine's CPUs, which come and go: each is a FUSE file system.

They are mounted over the machine's own (`run.sandbox`). Root may write `cpuN/online`, and takes the CPU offline by it.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from errno import EACCES, EISDIR, ENOENT, ENOSYS, ENOTDIR, EPERM, EROFS
from functools import partial
from stat import S_IFDIR, S_IFLNK, S_IFREG

from fakecgroup import Kernel
from fakecgroup.machine.online_cpus import OnlineCpus
from fakecgroup.named_tuple import NamedTuple
from fakecgroup.outside import online_files
from fakecgroup.outside.sysfs import Directory, File, Link
from fakecgroup.refuse import refuse
from fakecgroup_mount.calls import small_fuse
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.listing import DT_DIR, Listing

_BUFFER = 64 << 10
_PAGE, _NAME_MAX = 4096, 255  # as sysfs has them in statfs(2)
_DT_REG, _DT_LNK = 8, 10
_VALID = 1  # seconds that the kernel may keep names and attributes
_OWNERSHIP = wire.FATTR_MODE | wire.FATTR_UID | wire.FATTR_GID
_CHANGES = frozenset(
    (wire.SYMLINK, wire.MKNOD, wire.MKDIR, wire.UNLINK, wire.RMDIR, wire.RENAME, wire.RENAME2, wire.LINK)
)
_ONLINE = re.compile(r"cpu(\d+)/online")
_OF_ONLINE = re.compile(r"cpu\d+/[^/]+")  # what may go with its CPU: the kernel asks for it each time

Make = Callable[[OnlineCpus], Directory]
"""Makes what a directory holds while these CPUs are online."""


class _Node(NamedTuple):
    """A path below the root, "" for the root itself, and what is there; None for a directory."""

    path: str
    entry: File | Link | None


class SysfsDirectory:
    """Serves the file system of the descriptor `fuse` of /dev/fuse.

    What it holds is made anew by `make` after CPUs of `kernel` have come or gone. All of it is the `owner`'s, whose
    ids are those of the user namespace in which it is mounted.
    """

    lock: threading.Lock | None = None
    """The model's lock, as soon as anybody may write."""

    def __init__(self, fuse: int, kernel: Kernel, make: Make, owner: tuple[int, int]) -> None:
        self._fuse = fuse
        self._kernel = kernel
        self._make = make
        self._owner = owner
        self._since = int(time.time())
        self._online = -1
        self._holds: Directory = {}
        self._names: Mapping[str, dict[str, File | Link | None]] = {}
        self._numbers = {"": wire.ROOT_ID}
        self._paths = {wire.ROOT_ID: ""}
        self._open: dict[int, bytes | Listing] = {}
        self._next = 1

    def serve(self) -> None:
        """Answers requests until the file system ends."""
        buffer = bytearray(_BUFFER + 4096)
        while True:
            size = small_fuse.received(self._fuse, buffer)
            if size is None:
                return
            if not size:
                continue
            _, opcode, unique, node, *_ = wire.IN_HEADER.unpack_from(buffer)
            answer = partial(self._answer, opcode, unique, node, bytes(buffer[wire.IN_SIZE : size]))
            small_fuse.send(self._fuse, small_fuse.reply_of(answer, opcode, unique, node))

    # -- what is there ----------------------------------------------------------------------------

    def _update(self) -> None:
        """Makes the contents anew if CPUs have come or gone."""
        if self._online == self._kernel.cpus.online:
            return
        self._online = self._kernel.cpus.online
        self._holds = self._make(self._kernel.cpus)
        names: dict[str, dict[str, File | Link | None]] = {"": {}}

        def names_in(directory: str) -> dict[str, File | Link | None]:
            if directory not in names:
                names[directory] = {}
                above, _, name = directory.rpartition("/")
                names_in(above)[name] = None
            return names[directory]

        for path, entry in self._holds.items():
            directory, _, name = path.rpartition("/")
            names_in(directory)[name] = entry
        self._names = names

    def _at(self, number: int) -> _Node:
        """Raises ENOENT for what has gone with its CPU."""
        self._update()
        path = self._paths[number]
        if path in self._names:
            return _Node(path, None)
        if path not in self._holds:
            raise refuse(ENOENT)
        return _Node(path, self._holds[path])

    def _number(self, path: str) -> int:
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self._numbers) + 1
            self._paths[number] = path
        return number

    def _attributes(self, node: _Node) -> tuple[int, ...]:
        """The fields of a struct fuse_attr."""
        entry = node.entry
        if entry is None:
            below = self._names[node.path].values()
            mode, size, links = S_IFDIR | 0o755, 0, 2 + sum(one is None for one in below)
        elif isinstance(entry, Link):
            mode, size, links = S_IFLNK | 0o777, len(entry.target), 1
        else:
            mode, size, links = S_IFREG | entry.mode, _PAGE, 1
        return (
            self._number(node.path),
            size,
            0,
            *(self._since,) * 3,
            *(0,) * 3,
            mode,
            links,
            *self._owner,
            0,
            _PAGE,
            0,
        )

    # -- requests ---------------------------------------------------------------------------------

    def _answer(self, opcode: int, unique: int, number: int, body: bytes) -> bytes:
        """The reply to a request, empty for none. Raises OSError."""
        if opcode in (wire.FORGET, wire.BATCH_FORGET, wire.INTERRUPT):
            return b""
        if opcode == wire.INIT:
            _, _, readahead, _ = wire.INIT_IN.unpack_from(body)
            limits = (_BUFFER, 1, 0, 0, 0)
            return wire.INIT_OUT.pack(
                wire.INIT_OUT.size, 0, unique, wire.VERSION, wire.MINOR, readahead, wire.ATOMIC_O_TRUNC, 0, 0, *limits
            )
        if opcode == wire.LOOKUP:
            return self._lookup(unique, number, os.fsdecode(body[:-1]))
        if opcode == wire.SETATTR and wire.SETATTR_IN.unpack_from(body)[0] & _OWNERSHIP:
            raise refuse(EPERM)
        if opcode in (wire.GETATTR, wire.SETATTR):  # ftruncate(2) does nothing, nor does utimes(2)
            attributes = self._attributes(self._at(number))
            return wire.ATTR_OUT.pack(wire.ATTR_OUT.size, 0, unique, _VALID, 0, 0, *attributes)
        if opcode == wire.READLINK:
            entry = self._at(number).entry
            assert isinstance(entry, Link)  # the kernel asks for no other's
            return _data(unique, os.fsencode(entry.target))
        if opcode in (wire.OPEN, wire.OPENDIR):
            return self._open_file(unique, self._at(number), wire.OPEN_IN.unpack_from(body)[0])
        if opcode in (wire.READ, wire.READDIR):
            handle, offset, length, *_ = wire.READ_IN.unpack_from(body)
            content = self._open[handle]
            if isinstance(content, Listing):
                return _data(unique, content.part(offset, length))
            if offset == 0:
                content = self._open[handle] = self._text(number)
            return _data(unique, content[offset : offset + length])
        if opcode == wire.WRITE:
            _, _, length, *_ = wire.WRITE_IN.unpack_from(body)
            self._write(self._at(number).path, body[wire.WRITE_IN.size :][:length].decode("latin-1"))
            return wire.WRITE_OUT.pack(wire.WRITE_OUT.size, 0, unique, length, 0)
        if opcode in (wire.RELEASE, wire.RELEASEDIR):
            self._open.pop(wire.RELEASE_IN.unpack_from(body)[0], None)
            return wire.OUT_HEADER.pack(wire.OUT_SIZE, 0, unique)
        if opcode == wire.STATFS:
            return wire.STATFS_OUT.pack(wire.STATFS_OUT.size, 0, unique, 0, 0, 0, 0, 0, _PAGE, _NAME_MAX, 0, 0)
        if opcode == wire.CREATE:
            raise refuse(EACCES)  # vfs_create: directories of sysfs have no such operation
        if opcode in _CHANGES:
            raise refuse(EPERM)
        return wire.OUT_HEADER.pack(wire.OUT_SIZE, -ENOSYS, unique)

    def _lookup(self, unique: int, number: int, name: str) -> bytes:
        above = self._at(number)
        if above.entry is not None:
            raise refuse(ENOTDIR)
        path = f"{above.path}/{name}".lstrip("/")
        node = self._at(self._number(path)) if name in self._names[above.path] else None
        if node is None:
            raise refuse(ENOENT)
        attributes = self._attributes(node)
        valid = 0 if _OF_ONLINE.fullmatch(path) else _VALID
        return wire.ENTRY_OUT.pack(wire.ENTRY_OUT.size, 0, unique, attributes[0], 0, valid, _VALID, 0, 0, *attributes)

    def _open_file(self, unique: int, node: _Node, flags: int) -> bytes:
        if node.entry is None:
            names = self._names[node.path]
            kinds = [(name, self._kind(entry)) for name, entry in sorted(names.items())]
            entries = [(name, self._number(f"{node.path}/{name}".lstrip("/")), kind) for name, kind in kinds]
            content: bytes | Listing = Listing.in_turn(wire.ROOT_ID, wire.ROOT_ID, entries)
        elif flags & os.O_ACCMODE and not _ONLINE.fullmatch(node.path):
            written = isinstance(node.entry, File) and node.entry.mode & 0o222
            raise refuse(EROFS if written else EACCES)  # kernfs_fop_open lets nobody write what has no such bit
        else:
            content = b""
        handle, self._next = self._next, self._next + 1
        self._open[handle] = content
        return wire.OPEN_OUT.pack(wire.OPEN_OUT.size, 0, unique, handle, wire.FOPEN_DIRECT_IO | wire.FOPEN_NOFLUSH, 0)

    @staticmethod
    def _kind(entry: File | Link | None) -> int:
        if entry is None:
            return DT_DIR
        return _DT_LNK if isinstance(entry, Link) else _DT_REG

    def _text(self, number: int) -> bytes:
        entry = self._at(number).entry
        if not isinstance(entry, File):
            raise refuse(EISDIR)
        return entry.text.encode(errors="replace")

    def _write(self, path: str, text: str) -> None:
        """Takes a CPU offline, or brings it back (online_store). Raises EINVAL, EBUSY."""
        found = _ONLINE.fullmatch(path)
        assert found is not None  # nothing else is open for writing
        cpu = int(found[1])
        with self.lock or nullcontext():
            online = online_files.parse(text, self._kernel.personality, now=cpu in self._kernel.cpus)
            self._kernel.set_cpu_online(cpu, online)


def _data(unique: int, data: bytes | bytearray) -> bytes:
    return wire.OUT_HEADER.pack(wire.OUT_SIZE + len(data), 0, unique) + data
