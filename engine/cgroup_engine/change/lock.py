"""One engine at a time: a lock that is held while an engine changes kubepods below a root.

It is an open-file-description lock (``fcntl(2)``, F_OFD_SETLK) of one byte of ``cgroup.procs`` in the root (v1: of its
first hierarchy). The byte's offset is a hash of the path of kubepods, so engines with different cgroupRoots do not
meet. The lock writes nothing and leaves nothing behind, and the kernel drops it however its holder ends. It holds
across mount and pid namespaces, and on FUSE.

An engine that may not write the file takes a read lock instead, and goes one cgroup down towards kubepods, until it can
take a write lock. So of two engines on the same kubepods one always meets the other's lock, whatever their rights.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from errno import EACCES, EAGAIN, ENODEV, ENOENT, EPERM, EROFS
from pathlib import Path

from cgroup_engine.errors import LockedError, RootError, errno_name
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import Layout

_FLOCK = "hhqqi0q"  # struct flock: type, whence, start, length, pid


@contextmanager
def locked(root: str, layout: Layout, kubepods: str) -> Iterator[None]:
    """Holds the lock of ``kubepods``, its path below the root with the driver's names.

    :raises LockedError: another engine holds it.
    :raises RootError: no ``cgroup.procs`` from the root to kubepods can be locked for writing.
    """
    with ExitStack() as held:
        _lock_down(root, layout, kubepods, held)
        yield


def _lock_down(root: str, layout: Layout, kubepods: str, held: ExitStack) -> None:
    offset = _offset(kubepods)
    refused = ENOENT
    first = ""
    fs = OsFs(root)
    for cgroup in _ancestors(kubepods):
        file = os.path.join(layout.directory(layout.hierarchies[0], cgroup), "cgroup.procs")
        path = os.path.join(root, file)
        first = first or path
        for flags, kind in ((os.O_WRONLY, fcntl.F_WRLCK), (os.O_RDONLY, fcntl.F_RDLCK)):
            try:
                handle = fs.open(file, flags)
            except OSError as failed:
                if failed.errno in (ENOENT, ENODEV):
                    break
                if failed.errno not in (EACCES, EPERM, EROFS):
                    raise _unlockable(path, failed.errno or 0) from None
                refused = failed.errno
                continue
            held.callback(os.close, handle)
            _lock(handle, kind, offset, root, kubepods, path)
            if kind == fcntl.F_WRLCK:
                return
            break
    raise _unlockable(first, refused)


def _lock(handle: int, kind: int, offset: int, root: str, kubepods: str, path: str) -> None:
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, offset, 1, 0))
    except OSError as failed:
        if failed.errno not in (EACCES, EAGAIN):
            raise _unlockable(path, failed.errno or 0) from None
        raise LockedError(
            f"{root}: {_holder(offset)} is at work on /{kubepods}",
            path=kubepods,
            errno=failed.errno,
            todo="end it first",
        ) from None


def _unlockable(path: str, number: int) -> RootError:
    return RootError(
        f"{path}: cannot be locked: {errno_name(number)}",
        path=path,
        errno=number,
        todo="run as root or as the owner of the cgroup",
    )


def _ancestors(kubepods: str) -> Sequence[str]:
    """The root (""), and the cgroups from there down to kubepods itself."""
    parts = kubepods.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts) + 1)]


def _offset(kubepods: str) -> int:
    """The offset of the byte for a kubepods, from 0 to 2^62-1."""
    return int.from_bytes(hashlib.sha256(kubepods.encode()).digest()[:8], "big") >> 2


def _holder(offset: int, proc: Path = Path("/proc")) -> str:
    """Who holds the lock, if this process may see it: the kernel shows OFD locks only in fdinfo of each open file."""
    for process in proc.iterdir():
        if process.name.isdigit():
            try:
                if any(_tells_of(info, offset) for info in (process / "fdinfo").iterdir()):
                    name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                    return f"{name if name.isprintable() else 'a process'} (pid {process.name})"
            except OSError:
                continue
    return "another engine"


def _tells_of(info: Path, offset: int) -> bool:
    # lock:	1: OFDLCK ADVISORY  WRITE -1 00:1d:1 818605719967869969 818605719967869969
    try:
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return any(line.startswith("lock:") and line.split()[-2:] == [str(offset)] * 2 for line in lines)
