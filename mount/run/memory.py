"""The memory of a process that waits for an answer (process_vm_readv(2))."""

from __future__ import annotations

import ctypes
import os
from errno import EFAULT

from .syscalls import libc

_PAGE = 4096
_PATH_MAX = 4096


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


_VECTOR = (ctypes.c_void_p, ctypes.c_ulong)
for _call in (libc.process_vm_readv, libc.process_vm_writev):
    _call.argtypes = (ctypes.c_int, *_VECTOR, *_VECTOR, ctypes.c_ulong)
    _call.restype = ctypes.c_ssize_t


class Memory:
    """Reads and writes; one for each thread, as its buffer is used again. Raises OSError: EFAULT for an address where
    nothing is, ESRCH for a process that is gone.
    """

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(_PAGE)
        self._local = _Iovec(ctypes.addressof(self._buffer), 0)
        self._remote = _Iovec(0, 0)
        self._arguments = (ctypes.addressof(self._local), 1, ctypes.addressof(self._remote), 1, 0)

    def read(self, tid: int, address: int, size: int) -> bytes:
        """`size` bytes, at most a page."""
        self._local.length = self._remote.length = size
        self._remote.base = address
        got = libc.process_vm_readv(tid, *self._arguments)
        if got != size:
            code = ctypes.get_errno() if got < 0 else EFAULT
            raise OSError(code, os.strerror(code))
        return ctypes.string_at(self._buffer, size)

    def read_text(self, tid: int, address: int) -> bytes:
        """Up to a NUL; of what is longer than a path, the beginning."""
        text = b""
        while len(text) < _PATH_MAX:
            part, nul, _ = self.read(tid, address, min(256, _PAGE - address % _PAGE)).partition(b"\0")
            text += part
            if nul:
                break
            address += len(part)
        return text

    def write(self, tid: int, address: int, data: bytes) -> None:
        """At most a page."""
        ctypes.memmove(self._buffer, data, len(data))
        self._local.length = self._remote.length = len(data)
        self._remote.base = address
        if libc.process_vm_writev(tid, *self._arguments) != len(data):
            code = ctypes.get_errno() or EFAULT
            raise OSError(code, os.strerror(code))
