"""Writes of other processes to a tree, and cgroups that they make and remove, by fanotify(7).

It takes CAP_SYS_ADMIN, as it marks whole file systems, and CAP_DAC_READ_SEARCH to find the path of an event. On FUSE,
which has no fsid, an event carries the open file instead of a name; made and removed cgroups give no event there. Of a
process that has ended only the pid is known.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from errno import EINVAL, ENODEV, ENOENT, EOPNOTSUPP, ESTALE
from pathlib import Path

from cgroup_engine.tree.layout import Layout

# include/uapi/linux/fanotify.h
_FAN_CLOEXEC, _FAN_NONBLOCK, _FAN_UNLIMITED_QUEUE, _FAN_REPORT_DFID_NAME = 0x1, 0x2, 0x10, 0xC00
_FAN_MARK_ADD, _FAN_MARK_FLUSH, _FAN_MARK_FILESYSTEM = 0x1, 0x80, 0x100
_FAN_MODIFY, _FAN_CREATE, _FAN_DELETE, _FAN_Q_OVERFLOW, _FAN_ONDIR = 0x2, 0x100, 0x200, 0x4000, 0x40000000
_AT_FDCWD = -100
_EVENT = struct.Struct("=IBBHQii")  # length, version, reserved, length of this, mask, fd, pid
_NAMED = struct.Struct("=BBHQIi")  # type, pad, length, fsid, bytes of the handle, its type; then the handle, the name
_BATCHES, _BATCH = 64, 1 << 16
_MOST_PLACES = 4096
# an interface file begins with one of these, and no cgroup of this engine does
_FILE_PREFIXES = ("cgroup.", "cpu.", "cpuacct.", "cpuset.", "memory.", "pids.", "io.", "hugetlb.", "rdma.", "misc.",
                   "irq.", "dmem.")  # fmt: skip


class ForeignWrites:
    """Tells which process wrote where. ``root``: a mount point. ``top``: the directory of interest below it (v1: below
    each hierarchy).

    :raises OSError: the kernel refuses, or lacks fanotify.
    """

    def __init__(self, root: str, layout: Layout, top: str) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        mark = self._libc.fanotify_mark
        mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p]
        self._own = os.getpid()
        self._root = os.path.realpath(root)
        self._top = top
        self._handle = -1
        try:
            self._open(layout, named=True)
        except OSError as refused:
            if refused.errno not in (EINVAL, ENODEV, EOPNOTSUPP):
                raise
            self._open(layout, named=False)

    def fileno(self) -> int:
        return self._handle

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def mark(self, layout: Layout) -> None:
        """Marks the file systems that are at the root now.

        :raises OSError: the kernel refuses.
        """
        self._hierarchies = {
            os.path.join(self._root, hierarchy) if hierarchy else self._root for hierarchy in layout.hierarchies
        }
        self._prefixes = tuple(f"{layout.directory(hierarchy, self._top)}/" for hierarchy in layout.hierarchies)
        self._roots = {f"{directory}/cgroup.subtree_control".lstrip("/") for directory in layout.hierarchies}
        self._places: dict[tuple[int, bytes], str | None] = {}
        self._call("fanotify_mark", self._handle, _FAN_MARK_FLUSH | _FAN_MARK_FILESYSTEM, 0, _AT_FDCWD, None)
        events = _FAN_MODIFY | (_FAN_CREATE | _FAN_DELETE | _FAN_ONDIR if self._named else 0)
        for path in self._hierarchies:
            how = _FAN_MARK_ADD | _FAN_MARK_FILESYSTEM
            self._call("fanotify_mark", self._handle, how, events, _AT_FDCWD, os.fsencode(path))

    def read(self) -> dict[str, str]:
        """Paths that somebody else wrote to, made or removed since the last call -> who. Relative to the root.

        The path "" stands for any: the kernel lacked memory for an event, or the file of an event is gone.
        """
        changes: dict[str, str] = {}
        for _ in range(_BATCHES):
            try:
                batch = os.read(self._handle, _BATCH)
            except BlockingIOError:
                break
            except OSError as gone:
                # the kernel cannot open the event's file, as its cgroup was removed; the event is consumed
                if gone.errno not in (ENODEV, ENOENT, ESTALE):
                    raise
                changes[""] = ""
                continue
            for path, pid in self._events(batch):
                changes[path] = _who(pid) if pid != self._own else ""
        return changes

    def _open(self, layout: Layout, *, named: bool) -> None:
        self.close()
        flags = _FAN_CLOEXEC | _FAN_NONBLOCK | _FAN_UNLIMITED_QUEUE | (_FAN_REPORT_DFID_NAME if named else 0)
        self._handle = self._call("fanotify_init", flags, os.O_RDONLY | os.O_CLOEXEC)
        self._named = named
        try:
            self.mark(layout)
        except OSError:
            self.close()
            raise

    def _call(self, name: str, *arguments: object) -> int:
        result: int = getattr(self._libc, name)(*arguments)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{name}: {os.strerror(number)}")
        return result

    def _events(self, batch: bytes) -> Iterator[tuple[str, int]]:
        offset = 0
        while offset < len(batch):
            length, _, _, _, mask, file, pid = _EVENT.unpack_from(batch, offset)
            event = batch[offset : offset + length]
            offset += length
            if mask & _FAN_Q_OVERFLOW:
                yield "", self._own
            elif not self._named:
                path = self._path_of(file)
                if path is not None and pid != self._own:
                    yield path, pid
            elif pid != self._own and (path := self._named_path(event, bool(mask & _FAN_ONDIR))) is not None:
                yield path, pid

    def _named_path(self, event: bytes, is_directory: bool) -> str | None:
        _, _, size, fsid, handle_bytes, _ = _NAMED.unpack_from(event, _EVENT.size)
        start = _EVENT.size + _NAMED.size
        name = os.fsdecode(event[start + handle_bytes : _EVENT.size + size].rstrip(b"\0"))
        if not is_directory and not name.startswith(_FILE_PREFIXES):
            return None
        # struct file_handle: size and type, which _NAMED has read too, and then the handle
        place = self._place(fsid, event[start - 8 : start + handle_bytes])
        return None if place is None else self._below(f"{place}/{name}")

    def _place(self, fsid: int, handle: bytes) -> str | None:
        """The directory of a handle; None if it is gone, or in no hierarchy of this root."""
        key = fsid, handle
        if key not in self._places:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            self._places[key] = self._looked_up(fsid, handle)
        return self._places[key]

    def _looked_up(self, fsid: int, handle: bytes) -> str | None:
        for hierarchy in self._hierarchies:
            with suppress(OSError):
                mount = os.open(hierarchy, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    if os.fstatvfs(mount).f_fsid == fsid:
                        found = self._call("open_by_handle_at", mount, handle, os.O_PATH | os.O_CLOEXEC)
                        return _opened(found)
                finally:
                    os.close(mount)
        return None

    def _path_of(self, file: int) -> str | None:
        with suppress(OSError):
            return self._below(_opened(file))
        return None

    def _below(self, path: str) -> str | None:
        """A path relative to the root; None if it is outside of ``top``."""
        prefix = f"{self._root}/"
        if not path.startswith(prefix):
            return None
        path = path[len(prefix) :]
        return path if f"{path}/".startswith(self._prefixes) or path in self._roots else None


def _opened(file: int) -> str:
    """The path of an open file, which is closed."""
    try:
        return os.readlink(f"/proc/self/fd/{file}")
    finally:
        os.close(file)


def _who(pid: int) -> str:
    if pid <= 0:
        return "a process of another pid namespace"
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return f"pid {pid}"
    return f"{name} (pid {pid})"
