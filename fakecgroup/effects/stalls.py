"""How long tasks of a cgroup were stalled for one resource (kernel/sched/psi.c, struct psi_group)."""

from __future__ import annotations

import re

from .pressure_averages import Averages, average_shown

_LINE = re.compile(r"(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d{1,20})\n")


class Stalls:
    """Stalled ns so far: `some` and `full`, and their averages. `now` is the time up to which they are known."""

    __slots__ = ("full", "full_averages", "now", "some", "some_averages")

    now: int
    some: float
    full: float
    some_averages: Averages
    full_averages: Averages

    def __init__(self, now: int, interval: int) -> None:
        self.now = now
        self.some = 0.0
        self.full = 0.0
        self.some_averages = Averages(now + interval, now, interval)
        self.full_averages = Averages(now + interval, now, interval)

    @classmethod
    def recalled(cls, text: str, now: int, interval: int) -> Stalls:
        """Those that a file shows as `text` now. Raises ValueError for a text that no file shows."""
        lines = {found[1]: found for found in _LINE.finditer(text)}
        if "some" not in lines or "".join(found[0] for found in lines.values()) != text:
            raise ValueError("this is no text of a pressure file")
        made = cls(now, interval)
        for name, found in lines.items():
            averages = made.some_averages if name == "some" else made.full_averages
            averages.percent = tuple(average_shown(found[number]) for number in (2, 3, 4))
            averages.total = int(found[5]) * 1000
            setattr(made, name, float(averages.total))
        return made

    def add(self, now: int, time: int, some: float, full: float) -> None:
        """Take the stalled ns of the last `time` ns before `now`, evenly spread. Update averages that are due."""
        start = now - time
        if self.some_averages.due <= now:
            for averages, total, more in ((self.some_averages, self.some, some), (self.full_averages, self.full, full)):
                while averages.due <= now:
                    before, since = averages.percent, averages.updated
                    averages.update(averages.due, round(total + more * max(0, averages.due - start) / time))
                    if averages.percent == before and since >= start:
                        averages.skip(now)  # all intervals that follow are the same
                        averages.total = round(total + more * (averages.updated - start) / time)
        self.some += some
        self.full += full
        self.now = now

    def lines(self, now: int) -> list[str]:
        """The lines `some` and `full` as the file shows them now: averages in percent, totals in µs."""
        for averages, total in ((self.some_averages, self.some), (self.full_averages, self.full)):
            if averages.due <= now:  # the worker ran at the end of the interval in which tasks ran last (psi_avgs_work)
                averages.update(averages.due, round(total))
            averages.update(now, round(total))
        return [
            f"{name} avg10={averages.shown()[0]} avg60={averages.shown()[1]} avg300={averages.shown()[2]} "
            f"total={round(total) // 1000}\n"
            for name, averages, total in (
                ("some", self.some_averages, self.some),
                ("full", self.full_averages, self.full),
            )
        ]
