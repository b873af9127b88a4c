"""Averages of pressure: the share of time that tasks were stalled, over 10, 60 and 300 s (kernel/sched/psi.c)."""

from __future__ import annotations

from dataclasses import dataclass

FIXED_SHIFT = 11
FIXED_1 = 1 << FIXED_SHIFT  # an average of 1 percent
_ZERO = (0, 0, 0)
DECAYS = (1677, 1981, 2034)  # of FIXED_1 in one interval: 1/exp(2s/10s), 1/exp(2s/60s), 1/exp(2s/300s)


def interval(hz: int) -> int:
    """ns between two updates of the averages: 2 s and a jiffy (psi_init: PSI_FREQ in jiffies)."""
    return (2 * hz + 1) * (1_000_000_000 // hz)


@dataclass(slots=True)
class Averages:
    """The averages of one state (`some` or `full`) of one resource in one cgroup.

    Times are ns. `due` is when the next update is due, `updated` when the last one was, `total` the stalled ns that it
    had seen. `percent` are the three averages in percent of FIXED_1.
    """

    due: int
    updated: int
    interval: int
    total: int = 0
    percent: tuple[int, ...] = _ZERO

    def update(self, now: int, total: int) -> None:
        """Take the stalled ns `total` at `now` (update_averages). Do nothing before the update is due.

        Intervals that were missed count as without stalls; the stall of all of them is in the last.
        """
        if now < self.due:
            return
        missed = (now - self.due) // self.interval
        period = now - (self.updated + missed * self.interval)
        sample = min(total - self.total, period)
        self.total += sample
        active = sample * 100 // period * FIXED_1
        if active or self.percent != _ZERO:
            first, second, third = self.percent
            if missed:
                first, second, third = (
                    _decayed(average, _power(decay, missed), 0)
                    for average, decay in zip(self.percent, DECAYS, strict=True)
                )
            self.percent = (
                _decayed(first, DECAYS[0], active),
                _decayed(second, DECAYS[1], active),
                _decayed(third, DECAYS[2], active),
            )
        self.due += (1 + missed) * self.interval
        self.updated = now

    def skip(self, now: int) -> None:
        """Pass over the updates that are due by now, if they do not change the averages."""
        intervals = (now - self.due) // self.interval + 1
        if intervals > 0:
            self.due += intervals * self.interval
            self.updated = self.due - self.interval

    def shown(self) -> tuple[str, ...]:
        """The averages as the file shows them, in percent with two decimals (psi_show: LOAD_INT, LOAD_FRAC)."""
        return tuple(
            f"{value >> FIXED_SHIFT}.{(value & FIXED_1 - 1) * 100 >> FIXED_SHIFT:02}" for value in self.percent
        )


def average_shown(text: str) -> int:
    """The least average, in percent of FIXED_1, that is shown as `text`. Raises ValueError for any other text."""
    whole, point, hundredths = text.partition(".")
    if not (whole.isdecimal() and point and len(hundredths) == 2 and hundredths.isdecimal() and len(whole) <= 3):
        raise ValueError(f"{text!r} is no average")
    return (int(whole) << FIXED_SHIFT) - (-(int(hundredths) << FIXED_SHIFT) // 100)


def _decayed(average: int, decay: int, active: int) -> int:
    """The average after one interval with `active` percent of FIXED_1 (calc_load): rounded up while it grows.

    With a power of the decay and nothing active, after as many intervals (calc_load_n).
    """
    grown = average * decay + active * (FIXED_1 - decay)
    if active >= average:
        grown += FIXED_1 - 1
    return grown // FIXED_1


def _power(base: int, exponent: int) -> int:
    """A power of a fixed point number, rounded at each multiplication (fixed_power_int)."""
    result, half = FIXED_1, FIXED_1 >> 1
    while exponent:
        if exponent & 1:
            result = result * base + half >> FIXED_SHIFT
        exponent >>= 1
        if exponent:
            base = base * base + half >> FIXED_SHIFT
    return result
