"""The directories in an open directory, and the symbolic links there.

getdents64(2) takes a third of the system calls that ``os.scandir`` makes with a descriptor. A C library without it
(glibc before 2.30) has ``os.scandir``.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Callable, Iterator
from errno import EINTR
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    _Buffer = ctypes.Array[ctypes.c_char]

# struct linux_dirent64: inode and offset, then at these places the length of the entry, its type and its name
_SIZE, _TYPE, _NAME = 16, 18, 19
_LENGTH = struct.Struct("=H").unpack_from
_BUFFER = 8192  # bytes; most cgroups fit
_UNKNOWN, _DIRECTORY, _FILE, _LINK = 0, 4, 8, 10  # DT_UNKNOWN, DT_DIR, DT_REG, DT_LNK of <dirent.h>


def directories_and_links(directory: int) -> tuple[list[str], list[str]]:
    """The names of the directories in a directory, and of the symbolic links, by its descriptor.

    :raises OSError: it cannot be listed.
    """
    getdents64 = _getdents64()
    directories: list[str] = []
    links: list[str] = []
    for name, kind in _scanned(directory) if getdents64 is None else _read(directory, getdents64):
        kind = kind if kind != _UNKNOWN else _kind(directory, name)
        if kind == _LINK:
            links.append(os.fsdecode(name))
        elif kind == _DIRECTORY and name not in (b".", b".."):
            directories.append(os.fsdecode(name))
    return directories, links


def _kind(directory: int, name: bytes) -> int:
    """The type of an entry; a file system need not tell it in the list."""
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode) >> 12  # IFTODT
    except FileNotFoundError:
        return -1


def _scanned(directory: int) -> Iterator[tuple[bytes, int]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            yield os.fsencode(entry.name), _LINK if entry.is_symlink() else _DIRECTORY if entry.is_dir() else -1


def _read(directory: int, getdents64: Callable[[int, _Buffer], bytes]) -> list[tuple[bytes, int]]:
    """The entries but for files: a cgroup has some hundred of them, and few directories."""
    entries: list[tuple[bytes, int]] = []
    buffer = ctypes.create_string_buffer(_BUFFER)
    while data := getdents64(directory, buffer):
        at, end = 0, len(data)
        while at < end:
            kind = data[at + _TYPE]
            if kind != _FILE:
                start = at + _NAME
                entries.append((data[start : data.index(0, start)], kind))
            at += _LENGTH(data, at + _SIZE)[0]
    return entries


@cache
def _getdents64() -> Callable[[int, _Buffer], bytes] | None:
    """getdents64(2): the next entries of a directory, b"" at its end; None if the C library lacks it."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "getdents64", None)
    if call is None:
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    call.restype = ctypes.c_ssize_t

    def read(directory: int, buffer: _Buffer) -> bytes:
        while (size := call(directory, buffer, _BUFFER)) < 0:
            if (number := ctypes.get_errno()) != EINTR:
                raise OSError(number, os.strerror(number))
        return ctypes.string_at(buffer, size)

    return read
