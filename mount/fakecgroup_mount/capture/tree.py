"""Reads the files of cgroup hierarchies: bytes, modes, owners, extended attributes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from errno import ENODATA, ENODEV, ENOENT, ENOTSUP, errorcode

from fakecgroup.snapshot.content import Attributes, SeenCgroup, SeenFile
from fakecgroup_mount.capture.left_out import LeftOut

_CHUNK = 1 << 18
_MOST = 8 << 20  # bytes of one file
_GONE = (ENOENT, ENODEV)
_NOT_ALLOWED = ("EACCES", "EPERM")


def cgroups_at(top: str, left_out: LeftOut) -> Iterator[SeenCgroup]:
    """The cgroups of a directory, parents first, siblings in the order in which they were made.

    What is removed meanwhile is left out.
    """
    stack = [("/", top)]
    while stack:
        path, place = stack.pop()
        try:
            seen = SeenCgroup(path, _attributes(place, os.lstat(place), left_out))
            below = _fill(seen, place, left_out)
        except OSError as error:
            if error.errno not in _GONE:
                left_out.add("cgroups", error, path)
            continue
        yield seen
        prefix = path.rstrip("/")
        stack += [(f"{prefix}/{name}", os.path.join(place, name)) for _, name in sorted(below, reverse=True)]


def _fill(seen: SeenCgroup, place: str, left_out: LeftOut) -> list[tuple[int, str]]:
    """Read the files of a cgroup. Returns inode numbers and names of its children."""
    below = []
    with os.scandir(place) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    below.append((status.st_ino, entry.name))
                elif stat.S_ISREG(status.st_mode):
                    seen.files[entry.name] = _file(entry.path, status, left_out)
            except OSError as error:
                if error.errno not in _GONE:
                    left_out.add("files", error, entry.name)
    return below


def _file(place: str, status: os.stat_result, left_out: LeftOut) -> SeenFile:
    """One file. Raises OSError if it is gone."""
    attributes = _attributes(place, status, left_out)
    try:
        return SeenFile(_content(place), "", attributes)
    except OSError as error:
        if error.errno in _GONE:
            raise
        name = errorcode.get(error.errno or 0, "EIO")
        if name in _NOT_ALLOWED:
            left_out.add("files", error, os.path.basename(place))
        return SeenFile(None, name, attributes)


def _content(place: str) -> bytes:
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        data = b""
        while len(data) < _MOST and (chunk := os.read(descriptor, _CHUNK)):
            data += chunk
        return data
    finally:
        os.close(descriptor)


def _attributes(place: str, status: os.stat_result, left_out: LeftOut) -> Attributes:
    xattrs = {}
    try:
        for name in os.listxattr(place, follow_symlinks=False):
            xattrs[name] = os.getxattr(place, name, follow_symlinks=False)
    except OSError as error:
        if error.errno in _GONE:
            raise
        if error.errno not in (ENOTSUP, ENODATA):
            left_out.add("extended attributes", error, os.path.basename(place))
    mode = stat.S_IMODE(status.st_mode)
    if xattrs:
        return Attributes(mode, status.st_uid, status.st_gid, xattrs)
    return Attributes(mode, status.st_uid, status.st_gid)
