"""Processes that have no pidfd, for lack of descriptors. /proc is read now and then to see whether they still live."""

from __future__ import annotations

import time
from collections.abc import Callable
from errno import ESRCH

from fakecgroup_mount.host.timerfd import TimerFd
from fakecgroup_mount.host.usage import stat_of

_STATE, _START = 0, 19  # in what `stat_of` gives
_PAUSE = 0.1  # seconds between two looks, or
_SPARING = 20  # times the duration of a look, if that is more


class PolledProcesses:
    """Identifies a process by pid and start time. `timer` is readable when the next look is due."""

    def __init__(self) -> None:
        self.timer = TimerFd()
        self._starts: dict[int, str] = {}
        self._exited: set[int] = set()

    def __contains__(self, tgid: int) -> bool:
        return tgid in self._starts

    def add(self, tgid: int) -> bool:
        """Follows a process; returns False if there is none."""
        stat = stat_of(tgid)
        if not stat:
            return False
        self._starts[tgid] = stat[_START]
        self.timer.set(_PAUSE)
        return True

    def discard(self, tgid: int) -> None:
        self._starts.pop(tgid, None)
        self._exited.discard(tgid)

    def exited(self, has_threads: Callable[[int], bool]) -> list[int]:
        """The processes that have exited since the last look. A leader whose other threads live has not."""
        began = time.monotonic()
        self.timer.clear()
        found = []
        for tgid in self._starts.keys() - self._exited:
            try:
                stat = self._stat(tgid)
                if not stat or (stat[_STATE] in ("Z", "X") and not has_threads(tgid)):
                    found.append(tgid)
            except OSError:
                pass  # no descriptor is free: at the next look
        self._exited.update(found)
        if self._starts:
            self.timer.set(max(_PAUSE, _SPARING * (time.monotonic() - began)))
        return found

    def is_reaped(self, tgid: int) -> bool:
        """Whether a process was reaped."""
        try:
            return not self._stat(tgid)
        except OSError:
            return False

    def require(self, tgid: int) -> None:
        """Raises ProcessLookupError if a followed process was reaped, OSError at the limit of descriptors."""
        if not self._stat(tgid):
            raise ProcessLookupError(ESRCH, "no such process")

    def start(self, tgid: int) -> str:
        """The start time of a followed process, as in /proc/PID/stat."""
        return self._starts[tgid]

    def _stat(self, tgid: int) -> list[str]:
        """As `stat_of`; [] if the pid is another process's by now. Raises OSError."""
        stat = stat_of(tgid)
        return stat if stat and stat[_START] == self._starts[tgid] else []
