"""What a cgroup's file is asked for that is more than to read and write."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import socket
from pathlib import Path
from typing import Any

from place import AT_FDCWD, OPENAT, Place, answer, attempt, call, child, libc, operation

_FLAGS = {
    "O_DIRECTORY": os.O_DIRECTORY,
    "O_TRUNC": os.O_TRUNC | os.O_RDWR,
    "O_APPEND": os.O_APPEND | os.O_RDWR,
    "O_CREAT": os.O_CREAT | os.O_RDWR,
    "O_EXCL": os.O_CREAT | os.O_EXCL,
    "O_DIRECT": os.O_DIRECT,
    "O_TMPFILE": os.O_TMPFILE | os.O_RDWR,
    "O_NOATIME": os.O_NOATIME,
}


@operation
def files(place: Place) -> Any:
    """What a cgroup's file is asked for that is more than to read and write."""
    path = f"{place.own}/cgroup.procs"
    found: dict[str, Any] = {}
    for name, flags in _FLAGS.items():
        found[name] = answer(call(OPENAT, AT_FDCWD, path.encode(), flags, 0o600))
    found["directory O_TMPFILE"] = answer(call(OPENAT, AT_FDCWD, place.own.encode(), os.O_TMPFILE | os.O_RDWR, 0o600))
    fd = os.open(path, os.O_RDWR)
    for name, flags in (("private", mmap.MAP_PRIVATE), ("shared", mmap.MAP_SHARED)):
        mapped = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, flags, fd, ctypes.c_long(0))
        found[f"mmap {name}"] = errno.errorcode[ctypes.get_errno()] if mapped == -1 else "mapped"
    found["flock"] = attempt(fcntl.flock, fd, fcntl.LOCK_EX)
    found["lock"] = attempt(fcntl.lockf, fd, fcntl.LOCK_EX)
    found["fallocate"] = attempt(os.posix_fallocate, fd, 0, 10)
    found["fsync"] = attempt(os.fsync, fd)
    found["fdatasync"] = attempt(os.fdatasync, fd)
    found["seek"] = [
        attempt(os.lseek, fd, 0, how) for how in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END, os.SEEK_DATA, os.SEEK_HOLE)
    ]
    found["ftruncate"] = attempt(os.ftruncate, fd, 10)
    found["truncate"] = attempt(os.truncate, path, 10)
    found["write nothing"] = attempt(os.write, fd, b"")
    found["ioctl"] = attempt(fcntl.ioctl, fd, 0x5401, bytes(64))
    found["sendfile"] = attempt(lambda: os.sendfile(os.open(f"{place.tmp}/x", os.O_CREAT | os.O_WRONLY), fd, None, 100))
    found["copy_file_range"] = attempt(lambda: os.copy_file_range(fd, os.open(f"{place.tmp}/x", os.O_WRONLY), 10))
    found["splice"] = attempt(lambda: os.splice(fd, os.pipe()[1], 10))
    found["link"] = attempt(os.link, path, f"{place.own}/x")
    found["unlink"] = attempt(os.unlink, path)
    found["rename"] = attempt(os.rename, path, f"{place.own}/x")
    found["socket"] = attempt(lambda: socket.socket(socket.AF_UNIX).bind(f"{place.own}/s"))
    found["fifo"] = attempt(os.mkfifo, f"{place.own}/f")
    found["execute"] = attempt(lambda: child(lambda: os.execv(path, [path])))
    found["chdir"] = attempt(os.chdir, path)
    found["write at an offset"] = attempt(os.pwrite, fd, b"0", 5)
    found["leaseholder"] = attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    Path(place.hierarchy, "cgroup.procs").write_text("0")
    return found
