"""When a timer of the kernel expires: never early, and the later the longer it was to take (kernel/time/timer.c)."""

from __future__ import annotations

_SLOTS = 63  # of a level, that a timer may be away
_STEP = 3  # bits: a level is 8 times as coarse as the one before
_LEVELS = 8


def expires(now: int, delay: int) -> int:
    """The jiffy in which a timer expires that was armed at jiffy `now` for `delay` jiffies (calc_wheel_index)."""
    level = next((level for level in range(_LEVELS) if delay < _SLOTS << level * _STEP), _LEVELS)
    shift = level * _STEP
    return (((now + delay) >> shift) + 1) << shift
