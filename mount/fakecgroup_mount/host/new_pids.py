"""Which tasks have come since the last look, without a look at all that there are.

A pid namespace gives its numbers out one after the other, and says which was the last (/proc/loadavg, proc(5)). So who
is new is among the numbers between two looks. A number may be given out a while before its task is there
(kernel/fork.c, copy_process: alloc_pid comes before attach_pid); such numbers are looked at again.
"""

from __future__ import annotations

import os
import time

_MOST = 8192  # numbers that are looked at one by one; more are found in a listing of /proc sooner
_COMING = 0.25  # seconds for which a number without a task may yet get one
_LISTED = 1.0  # seconds between two listings, while there are new numbers
_FORK = 20e-6  # seconds that a fork takes at least, per CPU: so long has nobody been round all numbers
_DEFAULT_MAX = 32768


class NewPids:
    """The numbers that were given out after `start`."""

    def __init__(self) -> None:
        self._loadavg = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        self._lost = False  # whether what was given out since has to be found in a listing
        self._last = 0
        self._looked = 0.0
        self._listed = 0.0
        self._quiet = True  # whether nothing is new since the last listing
        self._max = _pid_max()
        self._round = self._max * _FORK / (os.cpu_count() or 1)
        self._forks = 0  # of the machine, when they were asked for last
        self._coming: dict[int, float] = {}  # number -> until when it may get a task
        self._over: set[int] = set()  # those that are looked at for the last time

    def start(self) -> None:
        """Who is there now is not new."""
        self._last = self._newest()
        self._forks = _forks()
        self._looked = self._listed = time.monotonic()
        self._quiet, self._lost = True, False
        self._coming.clear()
        self._over.clear()

    def start_anew(self) -> None:
        """What `take` gave could not be looked at."""
        self._lost = True

    def take(self) -> tuple[list[int], bool]:
        """Numbers among which the new tasks are, as they were given out, and whether each new thread is among them too.

        What has no task, or one that cannot be judged yet, is `put_back`.
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
        """This one shall be among those that `take` gives next, for a while."""
        if number not in self._over:
            self._coming.setdefault(number, time.monotonic() + _COMING)

    def settle(self, number: int) -> None:
        """The number has its task."""
        self._coming.pop(number, None)

    def _in_order(self, numbers: set[int]) -> list[int]:
        return sorted(numbers, key=lambda number: (number - self._last - 1) % self._max)

    def _has_been_round(self) -> bool:
        """Whether so many tasks were made since this was asked last, or `start`, that each number was given out."""
        before, self._forks = self._forks, _forks()
        return self._forks - before >= self._max or not self._forks

    def _list(self, now: float) -> set[int]:
        self._listed = now
        return {int(name) for name in os.listdir("/proc") if name.isdecimal()}

    def _newest(self) -> int:
        return int(os.pread(self._loadavg, 256, 0).rsplit(maxsplit=1)[1])


def _forks() -> int:
    """How many tasks were ever made on the machine; 0 where that is not said."""
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
