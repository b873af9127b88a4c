"""Finds the tasks that are new since the last look, without listing all of /proc.

A pid namespace gives out its pids in ascending order and shows the latest (`newest_pid`). So new tasks have
the pids between two looks. A pid may be given out some time before its task is visible (kernel/fork.c, copy_process:
alloc_pid comes before attach_pid). Such pids are looked at again.
"""

from __future__ import annotations

import os
import time

from fakecgroup_mount.host.newest_pid import NewestPid

_MOST = 8192  # pids that are looked at one by one; for more, a listing of /proc is faster
_COMING = 0.25  # seconds in which a pid without a task may still get one
_LISTED = 1.0  # seconds between two listings, while there are new pids
_FORK = 20e-6  # seconds of CPU that a fork takes at least: sooner the pids cannot have wrapped around
_DEFAULT_MAX = 32768


class NewPids:
    """The pids that were given out after `start`."""

    def __init__(self) -> None:
        self._newest_pid = NewestPid()
        self._lost = False  # whether the next look must list /proc
        self._last = 0
        self._looked = 0.0
        self._listed = 0.0
        self._quiet = True  # whether there was no new pid since the last listing
        self._max = _pid_max()
        self._round = self._max * _FORK / (os.cpu_count() or 1)
        self._forks = 0  # of the machine, at the last look
        self._coming: dict[int, float] = {}  # pid -> until when it may get a task
        self._over: set[int] = set()  # pids of `_coming` at their last look

    def start(self) -> None:
        """Begins: tasks that exist now are not new."""
        self._last = self._newest()
        self._forks = _forks()
        self._looked = self._listed = time.monotonic()
        self._quiet, self._lost = True, False
        self._coming.clear()
        self._over.clear()

    def list_next(self) -> None:
        """The pids of the last `take` could not be looked at. The next one lists /proc."""
        self._lost = True

    def take(self) -> tuple[list[int], bool]:
        """The pids that may be new tasks, in the order in which they were given out; and whether new threads are among
        them.

        The caller gives a pid without a task to `put_back`, and one with a task to `settle`.
        """
        now = time.monotonic()
        newest = self._newest()
        last, self._last = self._last, newest
        looked, self._looked = self._looked, now
        numbers = set(self._coming)
        self._over = {number for number, until in self._coming.items() if until < now}
        for number in self._over:
            del self._coming[number]
        if self._lost or (now - looked >= self._round and self._has_been_round()):
            numbers |= self._list(now)
            self._lost = False
            return self._in_order(numbers), False
        if newest == last:
            if not self._quiet and now - self._listed >= _LISTED:
                numbers |= self._list(now)
                self._quiet = True
            return self._in_order(numbers), True
        self._quiet = False
        if newest > last:
            spans = [range(last + 1, newest + 1)]
        else:
            self._max = _pid_max()
            spans = [range(last + 1, self._max), range(1, newest + 1)]
        if sum(map(len, spans)) > _MOST:
            return self._in_order(numbers | self._list(now)), False
        return self._in_order(numbers.union(*spans)), True

    def put_back(self, number: int) -> None:
        """Has the next `take` give this pid again, for a short time."""
        if number not in self._over:
            self._coming.setdefault(number, time.monotonic() + _COMING)

    def settle(self, number: int) -> None:
        """The pid has its task."""
        self._coming.pop(number, None)

    def _in_order(self, numbers: set[int]) -> list[int]:
        return sorted(numbers, key=lambda number: (number - self._last - 1) % self._max)

    def _has_been_round(self) -> bool:
        """Whether enough tasks were made since the last call or `start` for the pids to wrap around."""
        before, self._forks = self._forks, _forks()
        return self._forks - before >= self._max or not self._forks

    def _list(self, now: float) -> set[int]:
        self._listed = now
        return {int(name) for name in os.listdir("/proc") if name.isdecimal()}

    def _newest(self) -> int:
        return self._newest_pid.read()


def _forks() -> int:
    """The tasks made since boot (/proc/stat, processes); 0 if the file does not tell."""
    try:
        with open("/proc/stat", "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"processes ")), 0)
    except OSError:
        return 0


def _pid_max() -> int:
    try:
        with open("/proc/sys/kernel/pid_max", "rb", buffering=0) as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return _DEFAULT_MAX
