"""statfs(2) and name_to_handle_at(2)."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any

from place import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_FOLLOW,
    FSTATFS,
    NAME_TO_HANDLE_AT,
    NOWHERE,
    PROC_SUPER_MAGIC,
    STATFS,
    Place,
    attempt,
    call,
    child,
    operation,
)


def types(fd: int) -> Any:
    """What fstatfs(2) says: type, block size, blocks, free, name length, fragment size, flags."""
    buffer = ctypes.create_string_buffer(120)
    result = call(FSTATFS, fd, buffer)
    return [result, *statfs_of(buffer)] if result == 0 else result


def statfs_of(buffer: Any) -> list[Any]:
    kind, bsize, blocks, bfree, bavail, files, ffree, _, namelen, frsize, flags = struct.unpack_from("=7qq3q", buffer)
    if kind == PROC_SUPER_MAGIC:
        flags = 0  # those of the mount, which is the machine's
    return [hex(kind), bsize, blocks, bfree, bavail, files, ffree, namelen, frsize, hex(flags)]


def statfs(path: bytes | int | None) -> Any:
    buffer = ctypes.create_string_buffer(120)
    result = call(STATFS, path, buffer)
    return statfs_of(buffer) if result == 0 else result


@operation
def statfs_paths(place: Place) -> Any:
    own = place.own.encode()
    os.symlink(place.own, f"{place.tmp}/link")
    os.symlink("loop", f"{place.tmp}/loop")
    os.symlink(f"{place.own}/nothing", f"{place.tmp}/dangling")
    tmp = place.tmp.encode()
    os.chdir(place.own)
    fd = os.open(place.own, os.O_PATH)
    return {
        "nowhere": statfs(NOWHERE),
        "no path": statfs(None),
        "empty": statfs(b""),
        "own": statfs(own),
        "own/": statfs(own + b"/"),
        "a file": statfs(own + b"/cgroup.procs"),
        "a file/": statfs(own + b"/cgroup.procs/"),
        "a file/x": statfs(own + b"/cgroup.procs/x"),
        "nothing": statfs(own + b"/nothing"),
        ".": statfs(b"."),
        "..": statfs(b"../."),
        "link": statfs(tmp + b"/link"),
        "link/file": statfs(tmp + b"/link/cgroup.procs"),
        "loop": statfs(tmp + b"/loop"),
        "dangling": statfs(tmp + b"/dangling"),
        "long": statfs(b"a" * 300),
        "very long": statfs(b"/" + b"./" * 2500),
        "by a descriptor": statfs(b"/proc/self/fd/%d" % fd),
        "by the working directory": statfs(b"/proc/self/cwd/cgroup.procs"),
        "by another process": statfs(b"/proc/%d/cwd" % os.getpid()),
        "answer nowhere": call(STATFS, own, NOWHERE),
        "no answer": call(STATFS, own, None),
    }


@operation
def statfs_descriptors(place: Place) -> Any:
    ends = os.pipe()
    found = {"closed": call(FSTATFS, 999, bytes(120)), "negative": call(FSTATFS, -1, bytes(120))}
    for name, path, flags in (
        ("directory", place.own, os.O_RDONLY),
        ("O_PATH", place.own, os.O_PATH),
        ("file", f"{place.own}/cgroup.procs", os.O_RDONLY),
        ("file, O_PATH", f"{place.own}/cgroup.procs", os.O_PATH),
        ("/proc/self/cgroup", "/proc/self/cgroup", os.O_RDONLY),
        ("/proc/self/mountinfo", "/proc/self/mountinfo", os.O_RDONLY),
        ("/proc/self", "/proc/self", os.O_PATH),
    ):
        fd = os.open(path, flags)
        found[name] = types(fd)
        found[f"{name}, nowhere"] = call(FSTATFS, fd, NOWHERE)
        os.close(fd)
    found["pipe"] = types(ends[0])[1]
    os.mkdir(f"{place.own}/gone")
    fd = os.open(f"{place.own}/gone", os.O_RDONLY)
    file = os.open(f"{place.own}/gone/cgroup.procs", os.O_RDONLY)
    os.rmdir(f"{place.own}/gone")
    found["removed"] = types(fd)
    found["file of the removed"] = types(file)
    found["removed, by path"] = attempt(statfs, b"/proc/self/fd/%d" % fd)
    return found


@operation
def statfs_by_who_may_not_look(place: Place) -> Any:
    os.mkdir(f"{place.own}/closed", 0o700)
    os.mkdir(f"{place.own}/closed/in")
    os.chmod(f"{place.own}/closed", 0o700)

    def inside() -> Any:
        os.setresgid(1000, 1000, 1000)
        os.setresuid(1000, 1000, 1000)
        return [statfs(place.own.encode() + path) for path in (b"", b"/closed", b"/closed/in")]

    return child(inside)


def handle(fd: int, path: bytes | int | None, size: int = 8, flags: int = 0, **named: Any) -> Any:
    buffer = ctypes.create_string_buffer(struct.pack("=Ii", size, 0) + bytes(128))
    number = ctypes.c_int()
    result = call(
        NAME_TO_HANDLE_AT, fd, path, named.get("handle", buffer), named.get("number", ctypes.byref(number)), flags
    )
    length, kind, ino = struct.unpack_from("=IiQ", buffer)
    return [result, length, hex(kind), ino > 0, number.value > 0] if result in (0, "EOVERFLOW") else result


@operation
def handles(place: Place) -> Any:
    own = place.own.encode()
    os.symlink(place.own, f"{place.tmp}/link")
    link = place.tmp.encode() + b"/link"
    directory, path = os.open(place.own, os.O_RDONLY), os.open(place.own, os.O_PATH)
    found = {
        "own": handle(AT_FDCWD, own),
        "relative": handle(directory, b"cgroup.procs"),
        "relative to O_PATH": handle(path, b"cgroup.procs"),
        "too small": handle(AT_FDCWD, own, 4),
        "size only": handle(AT_FDCWD, own, 0),
        "too large": handle(AT_FDCWD, own, 129),
        "largest": handle(AT_FDCWD, own, 128),
        "empty": handle(directory, b"", flags=AT_EMPTY_PATH),
        "empty, O_PATH": handle(path, b"", flags=AT_EMPTY_PATH),
        "empty without the flag": handle(directory, b""),
        "bad descriptor": handle(999, b"cgroup.procs"),
        "bad descriptor, empty": handle(999, b"", flags=AT_EMPTY_PATH),
        "followed": handle(AT_FDCWD, link, flags=AT_SYMLINK_FOLLOW),
        "not there": handle(AT_FDCWD, own + b"/nothing"),
        "path nowhere": handle(AT_FDCWD, NOWHERE),
        "flags": handle(AT_FDCWD, own, flags=0x800000),
        "handle nowhere": handle(AT_FDCWD, own, handle=NOWHERE),
        "number nowhere": handle(AT_FDCWD, own, number=NOWHERE),
        "is the inode": handle_is_the_inode(place.own),
    }
    os.mkdir(f"{place.own}/gone")
    gone = os.open(f"{place.own}/gone", os.O_RDONLY)
    os.rmdir(f"{place.own}/gone")
    found["removed"] = handle(gone, b"", flags=AT_EMPTY_PATH)
    return found


def handle_is_the_inode(path: str) -> bool:
    buffer = ctypes.create_string_buffer(struct.pack("=Ii", 8, 0) + bytes(128))
    number = ctypes.c_int()
    call(NAME_TO_HANDLE_AT, AT_FDCWD, path.encode(), buffer, ctypes.byref(number), 0)
    return bool(struct.unpack_from("=IiQ", buffer)[2] == os.stat(path).st_ino)
