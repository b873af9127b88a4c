"""Peaks and thresholds of memory, in bytes."""

from __future__ import annotations

from ...credentials.caller import EventFd


class Peak:
    """The peak since a write to an open memory.peak (peak_write)."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: int) -> None:
        self.value = value


class Threshold:
    """A registered threshold, whose eventfd is signalled at each crossing (__mem_cgroup_threshold).

    With `memsw` what is in swap counts, too.
    """

    __slots__ = ("_event", "_limit", "_reached", "memsw")

    def __init__(self, limit: int, event: EventFd, usage: int, *, memsw: bool = False) -> None:
        self.memsw = memsw
        self._limit = limit
        self._event = event
        self._reached = usage >= limit

    def compare(self, usage: int) -> None:
        if self._reached != (usage >= self._limit):
            self._reached = not self._reached
            self._event.signal()
