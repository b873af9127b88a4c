"""The fusepy transport: the model behind the fusepy library on libfuse 2.

libfuse's high-level interface passes paths. A path is walked for each call, unless there is an open file. Only the last
directory is checked for search permission: the kernel module has looked up the others for the same caller before.

What libfuse 2 and fusepy 3.0.1 cannot do, and `native` can:

* poll: a file is always ready, and neither poll nor inotify reports a change;
* fstat, fchmod and extended attributes of a removed file: ENOENT;
* names of more than 1024 bytes: ENAMETOOLONG;
* sendfile and splice from a file: nothing, as its size is 0;
* the number of `..` in a directory's list.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from errno import EINVAL, EIO, ENOENT, ENOMEM
from functools import partial
from itertools import count
from typing import Any

from fakecgroup import ROOT, Caller, Kernel, OpenFile
from fakecgroup.kernfs.inode import Inode, Stat
from fakecgroup.refuse import refuse
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse.about import about
from fakecgroup_mount.fuse.requests import MAX_WRITE
from fakecgroup_mount.host.descriptors import Descriptors
from fakecgroup_mount.host.file_table import unshare_files
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.log import Log, begin
from fakecgroup_mount.host.mountinfo import FSTYPE, SOURCE, device_at
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.shortage import MemoryHeadroom, reply_errno

log = Log(__name__)

_ENCODING = "latin-1"  # fusepy decodes paths with this, `_text` encodes them again; it keeps every byte
_UTIME_NOW, _UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
_BETWEEN_LOOKS = 0.005  # seconds between two requests for exits


def load() -> Any:
    """Imports fusepy. Raises MountError if it or libfuse 2 is not installed."""
    try:
        import fuse
    except ModuleNotFoundError:
        raise MountError("--transport fusepy: no Python package fusepy; install it, or use native") from None
    except OSError:
        raise MountError(
            "--transport fusepy: no libfuse 2; install libfuse2 or libfuse2t64 (Debian packages), or use native"
        ) from None
    if not hasattr(fuse, "fuse_get_context"):
        raise MountError(f"--transport fusepy: {fuse.__file__} is another package's; install fusepy, or use native")
    begin()  # it logs by itself
    return fuse


def serve(
    fuse: Any,
    path: str,
    kernel: Kernel,
    ids: IdMap,
    processes: HostProcesses,
    *,
    allow_other: bool,
    ready: Callable[[], None],
) -> None:
    """Mounts at `path` and answers until it is unmounted or a signal ends it (libfuse unmounts then).

    `fuse` is the result of `load`. Calls `ready` once mounted. Raises RuntimeError if libfuse cannot mount.
    """
    fuse.FUSE(
        Operations(fuse.fuse_get_context, path, kernel, ids, processes, ready),
        os.fsencode(path).decode(_ENCODING),
        raw_fi=True,
        encoding=_ENCODING,
        foreground=True,
        nothreads=True,
        fsname=SOURCE,
        subtype=FSTYPE.partition(".")[2],
        allow_other=allow_other,
        nosuid=True,
        nodev=True,
        noexec=True,
        direct_io=True,
        hard_remove=True,
        atomic_o_trunc=True,
        use_ino=True,
        big_writes=True,
        max_write=MAX_WRITE,
        attr_timeout=0,
        entry_timeout=0,
        ac_attr_timeout=0,
        negative_timeout=0,
    )


def _ask_after_exits(path: str, exits: select.epoll) -> None:
    """Makes a request for each exit of a process. libfuse waits for requests only, and `Operations` reports exits
    first.
    """
    unshare_files(exits.fileno())
    while True:
        select.select([exits], [], [])
        try:
            os.lstat(path)
        except OSError:
            return  # unmounted
        time.sleep(_BETWEEN_LOOKS)


class Operations:
    """What fusepy calls: `operations("mkdir", path, mode)`."""

    use_ns = True
    flag_nullpath_ok = True  # for a removed file libfuse passes the handle and no path
    flag_utime_omit_ok = True
    flush = bmap = lock = ioctl = None

    def __init__(
        self,
        context: Callable[[], tuple[int, int, int]],
        path: str,
        kernel: Kernel,
        ids: IdMap,
        processes: HostProcesses,
        ready: Callable[[], None],
    ) -> None:
        self._context = context
        self._path = path
        self._kernel = kernel
        self._vfs = kernel.vfs
        self._ids = ids
        self._processes = processes
        self._ready = ready
        self._files: dict[int, OpenFile] = {}
        self._headroom = MemoryHeadroom(kernel)
        self._descriptors = Descriptors(partial(device_at, path), self._files.values)
        self._handles = count(1)

    def __call__(self, operation: str, *arguments: Any) -> Any:
        try:
            if self._processes.watched:
                self._report()
            return getattr(self, operation)(*arguments)
        except OSError as error:
            raise refuse(reply_errno(error)) from None
        except MemoryError:
            raise OSError(ENOMEM, os.strerror(ENOMEM)) from None
        except Exception:
            log.exception("%s%r", operation, arguments)
            raise OSError(EIO, os.strerror(EIO)) from None  # fusepy would answer EINVAL

    def _report(self) -> None:
        try:
            self._processes.report(self._kernel)
        except Exception:
            log.exception("a process has exited")

    # -- paths ------------------------------------------------------------------------------------

    def _caller(self) -> Caller:
        uid, gid, pid = self._context()
        return self._ids.caller(uid, gid, pid, self._descriptors.of(pid))

    def _walk(self, names: list[str]) -> Inode:
        inode: Inode = self._vfs.root
        for name in names:
            inode = self._vfs.lookup(inode, name, ROOT)
        return inode

    def _find(self, path: str | None, caller: Caller) -> Inode:
        """The inode at a path. `caller` looks up its last component."""
        if path is None:  # removed, and this operation has no handle
            raise OSError(ENOENT, os.strerror(ENOENT))
        parent, name = self._parent(path)
        return self._vfs.lookup(parent, name, caller) if name else parent

    def _parent(self, path: str) -> tuple[Inode, str]:
        *parents, name = _text(path).split("/")[1:]
        return self._walk(parents), name

    def _stat(self, inode: Inode) -> dict[str, int]:
        stat: Stat = self._vfs.getattr(inode)
        return {
            "st_ino": stat.ino,
            "st_mode": stat.mode,
            "st_nlink": stat.nlink,
            "st_uid": self._ids.shown_uid.get(stat.uid, stat.uid),
            "st_gid": self._ids.shown_gid.get(stat.gid, stat.gid),
            "st_size": stat.size,
            "st_atime": stat.atime,
            "st_mtime": stat.mtime,
            "st_ctime": stat.ctime,
            "st_blksize": stat.blksize,
            "st_blocks": stat.blocks,
        }

    # -- operations, as the kernel calls them -----------------------------------------------------

    def init(self, path: str) -> None:
        threading.Thread(target=_ask_after_exits, args=(self._path, self._processes.exits), daemon=True).start()
        self._ready()

    def destroy(self, path: str) -> None:
        pass

    def getattr(self, path: str | None, fi: Any = None) -> dict[str, int]:
        if fi:
            return self._stat(self._files[fi.fh].inode)
        return self._stat(self._find(path, self._caller()))

    def access(self, path: str, mask: int) -> None:
        caller = self._caller()
        inode = self._find(path, caller)
        self._vfs.access(inode, mask, self._ids.for_access(caller, mask, inode))

    def readlink(self, path: str) -> str:
        return _bytes_as_text(self._vfs.readlink(self._find(path, self._caller())))

    def statfs(self, path: str) -> dict[str, int]:
        shown = self._vfs.statfs(self._find(path, ROOT))
        return {"f_bsize": shown.bsize, "f_frsize": shown.bsize, "f_namemax": shown.namelen}

    def chmod(self, path: str, mode: int) -> None:
        caller = self._caller()
        self._vfs.setattr(self._find(path, caller), caller, mode=mode & 0o7777)

    def chown(self, path: str, uid: int, gid: int) -> None:
        caller = self._caller()
        self._vfs.setattr(
            self._find(path, caller),
            caller,
            uid=None if uid == -1 else self._ids.model_uid.get(uid, uid),
            gid=None if gid == -1 else self._ids.model_gid.get(gid, gid),
            chown=True,
        )

    def truncate(self, path: str | None, length: int, fi: Any = None) -> None:
        caller = self._caller()
        handle = self._files[fi.fh] if fi else None
        inode = handle.inode if handle else self._find(path, caller)
        self._vfs.setattr(inode, caller, size=length, handle=handle)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> None:
        caller = self._caller()
        atime, mtime = times or (_UTIME_NOW, _UTIME_NOW)
        self._vfs.setattr(self._find(path, caller), caller, atime=_time(atime), mtime=_time(mtime))

    def mkdir(self, path: str, mode: int) -> None:
        self._headroom.require()
        parent, name = self._parent(path)
        self._vfs.mkdir(parent, name, mode & 0o7777, self._caller())

    def rmdir(self, path: str) -> None:
        self._vfs.rmdir(*self._parent(path), self._caller())

    def unlink(self, path: str) -> None:
        self._vfs.unlink(*self._parent(path), self._caller())

    def rename(self, path: str, new_path: str) -> None:
        self._vfs.rename(*self._parent(path), *self._parent(new_path), 0, self._caller())

    def create(self, path: str, mode: int, fi: Any) -> None:
        parent, name = self._parent(path)
        self._vfs.create(parent, name, mode & 0o7777, self._caller())

    def mknod(self, path: str, mode: int, rdev: int) -> None:
        parent, name = self._parent(path)
        self._vfs.mknod(parent, name, mode, rdev, self._caller())

    def symlink(self, path: str, target: str) -> None:
        parent, name = self._parent(path)
        self._vfs.symlink(parent, name, _text(target), self._caller())

    def link(self, path: str, old: str) -> None:
        caller = self._caller()
        parent, name = self._parent(path)
        self._vfs.link(self._find(old, caller), parent, name, caller)

    def opendir(self, path: str) -> int:
        caller = self._caller()
        self._vfs.opendir(self._find(path, caller), caller)
        return 0

    def readdir(self, path: str | None, handle: int) -> list[str | tuple[str, dict[str, int], int]]:
        if path is None:
            return [".", ".."]
        inode = self._find(path, ROOT)
        entries: list[str | tuple[str, dict[str, int], int]] = [
            (".", {"st_ino": inode.ino, "st_mode": 0o040000}, 0),
            "..",
        ]
        for name, ino, kind in self._vfs.readdir(inode):
            entries.append((_bytes_as_text(name), {"st_ino": ino, "st_mode": kind << 12}, 0))
        return entries

    def releasedir(self, path: str | None, handle: int) -> None:
        pass

    def fsyncdir(self, path: str | None, datasync: int, handle: int) -> None:
        raise OSError(EINVAL, os.strerror(EINVAL))

    def fsync(self, path: str | None, datasync: int, fi: Any) -> None:
        pass

    def open(self, path: str, fi: Any) -> None:
        caller = self._caller()
        file = self._vfs.open(self._find(path, caller), fi.flags, caller)
        fi.fh = next(self._handles)
        self._files[fi.fh] = file

    def read(self, path: str | None, size: int, offset: int, fi: Any) -> bytes:
        return self._files[fi.fh].read(offset, size, self._caller())

    def write(self, path: str | None, data: bytes, offset: int, fi: Any) -> int:
        return self._files[fi.fh].write(data, self._caller())

    def release(self, path: str | None, fi: Any) -> None:
        del self._files[fi.fh]

    def setxattr(self, path: str, name: str, value: bytes, flags: int) -> None:
        caller = self._caller()
        self._vfs.setxattr(self._find(path, caller), _text(name), value, flags, caller)

    def getxattr(self, path: str, name: str) -> bytes:
        if path == "/" and (said := about(name, self._kernel, "fusepy")) is not None:
            return said
        caller = self._caller()
        return self._vfs.getxattr(self._find(path, caller), _text(name), caller)

    def listxattr(self, path: str) -> list[str]:
        caller = self._caller()
        return [_bytes_as_text(name) for name in self._vfs.listxattr(self._find(path, caller), caller)]

    def removexattr(self, path: str, name: str) -> None:
        caller = self._caller()
        self._vfs.removexattr(self._find(path, caller), _text(name), caller)


def _text(path: str) -> str:
    """A path from fusepy in the model's encoding."""
    return os.fsdecode(path.encode(_ENCODING))


def _bytes_as_text(name: str) -> str:
    """A name of the model's in fusepy's encoding."""
    return os.fsencode(name).decode(_ENCODING)


def _time(value: int) -> int | None:
    """A time of utimens in ns; None leaves it as it is."""
    if value == _UTIME_NOW:
        return time.time_ns()
    return None if value == _UTIME_OMIT else value
