"""Translates thread numbers between pid namespaces (pid_namespaces(7))."""

from __future__ import annotations

import os
from fcntl import ioctl

from fakecgroup.credentials.caller import OWN_NUMBERS, Numbers
from fakecgroup.tasks.joined_processes import is_simulated

_NS_GET_PARENT = 0xB702
_NS_GET_PID_FROM_PIDNS = 0x8004B706  # Linux 6.11


def pid_namespace_of(tid: int) -> Numbers:
    """The numbers that a thread sees; our own if it is in our namespace or that cannot be read."""
    try:
        theirs = os.stat(f"/proc/{tid}/ns/pid").st_ino
    except OSError:
        return OWN_NUMBERS
    return OWN_NUMBERS if theirs == os.stat("/proc/self/ns/pid").st_ino else PidNamespace(tid)


def pid_namespace_of_proc(proc: str, tid: int) -> Numbers:
    """The numbers in another mount of /proc, at a path of ours, for a thread in its namespace or one below. For any
    other thread, the numbers that the thread sees.
    """
    own = nspid(tid)
    for depth, number in enumerate(own):
        if nspid(number, proc) == own[depth:]:
            levels = len(own) - 1 - depth
            return PidNamespace(tid, levels) if depth else OWN_NUMBERS
    return pid_namespace_of(tid)


class PidNamespace:
    """The pid namespace of a thread, or the one `levels` above it. `namespace` is its inode number.

    A simulated process is in no namespace. It has the same number in each, which no other process can have.
    """

    def __init__(self, reader: int, levels: int = 0) -> None:
        self.namespace = _above(reader, levels)
        self._reader = reader
        self._levels = levels
        self._depth = len(nspid(reader)) - levels

    def number(self, tid: int) -> int:
        """The number that a thread of ours has in this namespace; 0 if it has none."""
        if is_simulated(tid):
            return tid
        found = nspid(tid)
        if len(found) < self._depth or _above(tid, len(found) - self._depth) != self.namespace:
            return 0
        return found[self._depth - 1]

    def tid(self, number: int) -> int:
        """Our number of the thread with this number in the namespace; 0 without one."""
        if is_simulated(number):
            return number
        try:
            fd = _open_above(self._reader, self._levels)
        except OSError:
            return 0
        try:
            return ioctl(fd, _NS_GET_PID_FROM_PIDNS, number)
        except OverflowError:
            return 0
        except OSError:  # no such process, or an older kernel
            return self.search(number)
        finally:
            os.close(fd)

    def search(self, number: int) -> int:
        """`tid` on a kernel before 6.11, by reading all of /proc."""
        for name in os.listdir("/proc"):
            if name.isdecimal() and self.number(int(name)) == number:
                return int(name)
        return 0


def nspid(tid: int, proc: str = "/proc") -> list[int]:
    """A thread's numbers from the namespace of `proc` inwards (proc_pid_status(5), NSpid); empty if it is gone."""
    try:
        with open(f"{proc}/{tid}/status", "rb") as file:
            return next(list(map(int, line.split()[1:])) for line in file if line.startswith(b"NSpid:"))
    except (FileNotFoundError, ProcessLookupError):
        return []


def _above(tid: int, levels: int) -> int:
    """The inode number of the pid namespace `levels` above a thread's; 0 if it cannot be opened."""
    try:
        fd = _open_above(tid, levels)
    except OSError:
        return 0
    try:
        return os.fstat(fd).st_ino
    finally:
        os.close(fd)


def _open_above(tid: int, levels: int) -> int:
    """Opens that namespace. Raises OSError."""
    fd = os.open(f"/proc/{tid}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        for _ in range(levels):
            parent = ioctl(fd, _NS_GET_PARENT)
            os.close(fd)
            fd = parent
    except OSError:
        os.close(fd)
        raise
    return fd
