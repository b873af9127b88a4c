"""Runs a command of the engine and kills it at a chosen system call."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

_TRACEME, _CONT, _SYSCALL, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 7, 24, 0x4200, 0x420E
_TRACESYSGOOD, _TRACESECCOMP, _EXITKILL = 1, 1 << 7, 1 << 20
_ENTRY = 1
_SECCOMP_STOP = signal.SIGTRAP | 7 << 8
_SYSCALL_STOP = signal.SIGTRAP | 0x80
#: x86-64: system calls that change a directory, write to a descriptor, or open a file.
_CHANGES = (82, 83, 84, 87, 258, 263, 264, 316)  # rename, mkdir, rmdir, unlink, mkdirat, unlinkat, renameat, renameat2
_WRITES = (1, 18, 20, 296)  # write, pwrite64, writev, pwritev
_OPENS = {2: 1, 257: 2}  # open, openat: which argument has the flags

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)


@dataclass(frozen=True)
class Ending:
    """``calls``: system calls that were begun. ``code``: how it ended itself, None if it was killed."""

    calls: int
    code: int | None


def run_until(work: Callable[[], int], last: int, *, changes: bool) -> Ending:
    """Runs ``work`` in a forked process, silently, and kills it as it begins the system call number ``last``.

    The call is not made. ``changes``: only calls count that can change a file or directory, and the others are as
    fast as ever.
    """
    pid = os.fork()
    if pid == 0:
        _work(work, changes)
    calls = 0
    os.waitpid(pid, 0)
    _ptrace(_SETOPTIONS, pid, 0, _TRACESYSGOOD | _TRACESECCOMP | _EXITKILL)
    passed = 0
    while True:
        _ptrace(_CONT if changes else _SYSCALL, pid, 0, passed)
        status = os.waitpid(pid, 0)[1]
        if not os.WIFSTOPPED(status):
            return Ending(calls, os.waitstatus_to_exitcode(status))
        stop = status >> 8
        passed = 0 if stop in (_SECCOMP_STOP, _SYSCALL_STOP) else stop & 0xFF
        if stop == _SECCOMP_STOP or (stop == _SYSCALL_STOP and _begins(pid)):
            calls += 1
            if calls == last:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return Ending(calls, None)


def _work(work: Callable[[], int], changes: bool) -> None:
    code = 99
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(silent, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        _ptrace(_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        if changes:
            _stop_at_changes()
        code = work()
    finally:
        os._exit(code)


def _begins(pid: int) -> bool:
    """Is it at the beginning of a system call, not at its end?"""
    information = ctypes.create_string_buffer(88)
    _ptrace(_GET_SYSCALL_INFO, pid, len(information), ctypes.addressof(information))
    return information.raw[0] == _ENTRY


def _stop_at_changes() -> None:
    """A seccomp filter: this process stops for its tracer only at calls that can change a file or directory."""
    load, equal, greater, any_bit, back = 0x20, 0x15, 0x25, 0x45, 0x06
    trace, allow = (back, 0, 0, 0x7FF00000), (back, 0, 0, 0x7FFF0000)
    first_argument = 16  # in struct seccomp_data, 8 bytes each
    program = [(load, 0, 0, 0)]
    for number in _CHANGES:
        program += [(equal, 0, 1, number), trace]
    for number in _WRITES:  # but for standard output and error
        program += [(equal, 0, 4, number), (load, 0, 0, first_argument), (greater, 0, 1, 2), trace, allow]
    for number, flags in _OPENS.items():
        made = os.O_CREAT | os.O_TRUNC
        program += [
            (equal, 0, 4, number),
            (load, 0, 0, first_argument + 8 * flags),
            (any_bit, 0, 1, made),
            trace,
            allow,
        ]
    program.append(allow)
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(text)))
    if _libc.prctl(38, 1, 0, 0, 0) or _libc.prctl(22, 2, ctypes.addressof(filters), 0, 0):  # no new privileges; filter
        raise OSError(ctypes.get_errno(), "seccomp")


def _ptrace(request: int, pid: int, address: int, data: int) -> None:
    if _libc.ptrace(request, pid, address, data) == -1:
        raise OSError(ctypes.get_errno(), "ptrace")
