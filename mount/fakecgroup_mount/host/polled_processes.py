"""Processes that are followed without a descriptor for each: /proc is asked now and then if they are still there."""

from __future__ import annotations

import time
from collections.abc import Callable

from fakecgroup_mount.host.timerfd import TimerFd
from fakecgroup_mount.host.usage import stat_of

_STATE, _START = 0, 19  # in what `stat_of` gives
_PAUSE = 0.1  # seconds between two looks
_SPARING = 20  # or that many times what one takes


class PolledProcesses:
    """Each is known by its number and the time of its start. `timer` is readable when it is time to look."""

    def __init__(self) -> None:
        self.timer = TimerFd()
        self._starts: dict[int, str] = {}
        self._exited: set[int] = set()

    def __contains__(self, tgid: int) -> bool:
        return tgid in self._starts

    def add(self, tgid: int) -> bool:
        """Follows a process from now on; False where there is none."""
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
        """Those that have exited since the last look; a leader that did so before its other threads lives on."""
        began = time.monotonic()
        self.timer.clear()
        found = []
        for tgid in self._starts.keys() - self._exited:
            try:
                stat = self._stat(tgid)
                if not stat or (stat[_STATE] in ("Z", "X") and not has_threads(tgid)):
                    found.append(tgid)
            except OSError:
                pass  # no descriptor even for that: later
        self._exited.update(found)
        if self._starts:
            self.timer.set(max(_PAUSE, _SPARING * (time.monotonic() - began)))
        return found

    def is_reaped(self, tgid: int) -> bool:
        """Whether a process is gone, and no zombie any more."""
        try:
            return not self._stat(tgid)
        except OSError:
            return False

    def start(self, tgid: int) -> str:
        """When a process that is followed was started, as /proc/PID/stat says it."""
        return self._starts[tgid]

    def _stat(self, tgid: int) -> list[str]:
        """As `stat_of`; [] where the number is another process' by now. Raises OSError."""
        stat = stat_of(tgid)
        return stat if stat and stat[_START] == self._starts[tgid] else []
