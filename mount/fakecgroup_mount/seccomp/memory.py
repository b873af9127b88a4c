"""Reads and writes the memory of a process in a trapped call (process_vm_readv(2))."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from errno import EFAULT
from struct import Struct

from fakecgroup_mount.seccomp.syscalls import libc

_PAGE = 4096
_PATH_MAX = 4096
_MOST_PATHS = 256  # bytes; few paths are longer
_IOVECS = Struct("=QQQQ")  # two struct iovec: ours, then the other process's
_BETWEEN = Struct("=QQQ")  # our size, the other's address and size
_ADDRESS = 16  # where the other's address is in them
_read_quickly = ctypes.CDLL(None).process_vm_readv  # keeps no errno

for _call in (libc.process_vm_readv, libc.process_vm_writev, _read_quickly):
    _call.restype = ctypes.c_ssize_t


class Memory:
    """Access to other processes' memory, through one buffer: for one thread.

    Raises OSError: EFAULT for an unmapped address, ESRCH for a process that is gone.
    """

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(_PAGE)
        self._iovecs, self._arguments = self._prepared(0)
        paths, self._path_arguments = self._prepared(_MOST_PATHS)
        self._path_address = ctypes.c_uint64.from_buffer(paths, _ADDRESS)

    def _prepared(self, size: int) -> tuple[ctypes.Array[ctypes.c_char], tuple[object, ...]]:
        """Two iovecs, and the arguments for a transfer of so many bytes with them."""
        packed = _IOVECS.pack(ctypes.addressof(self._buffer), size, 0, size)
        iovecs = ctypes.create_string_buffer(packed, len(packed))
        ours, one = ctypes.addressof(iovecs), ctypes.c_ulong(1)
        theirs = ours + _IOVECS.size // 2
        # C types, as that is faster than argtypes.
        return iovecs, (ctypes.c_void_p(ours), one, ctypes.c_void_p(theirs), one, ctypes.c_ulong(0))

    def read(self, tid: int, address: int, size: int) -> bytes:
        """Reads `size` bytes, at most a page."""
        self._transfer(libc.process_vm_readv, tid, address, size)
        return ctypes.string_at(self._buffer, size)

    def read_text(self, tid: int, address: int) -> bytes:
        """Reads up to a NUL, at most PATH_MAX bytes."""
        if address % _PAGE <= _PAGE - _MOST_PATHS:  # nearly all: each call that has a path asks
            self._path_address.value = address
            if _read_quickly(tid, *self._path_arguments) == _MOST_PATHS:
                path: bytes = self._buffer.value
                if len(path) < _MOST_PATHS:
                    return path
        text = b""
        while len(text) < _PATH_MAX:
            size = min(_MOST_PATHS, _PAGE - address % _PAGE)
            self._transfer(libc.process_vm_readv, tid, address, size)
            part: bytes = self._buffer.value[:size]  # `value` ends at a NUL, which may lie beyond `size`
            text += part
            if len(part) < size:
                break
            address += size
        return text

    def write(self, tid: int, address: int, data: bytes) -> None:
        """Writes at most a page."""
        ctypes.memmove(self._buffer, data, len(data))
        self._transfer(libc.process_vm_writev, tid, address, len(data))

    def _transfer(self, call: Callable[..., int], tid: int, address: int, size: int) -> None:
        _BETWEEN.pack_into(self._iovecs, 8, size, address, size)
        done = call(tid, *self._arguments)
        if done != size:
            code = ctypes.get_errno() if done < 0 else EFAULT
            raise OSError(code, os.strerror(code))
