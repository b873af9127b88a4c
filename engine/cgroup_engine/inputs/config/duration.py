"""Durations as Go writes them."""

from __future__ import annotations

import re

_DURATION_UNITS_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def duration_ns(text: str) -> int | None:
    """A Go duration ("1h", "1.5s", "100ms") in ns; None if the text is none."""
    if text == "0":
        return 0
    part = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?|\.[0-9]{1,18})(ns|us|µs|μs|ms|s|m|h)")
    total, position = 0, 0  # in 10^-18 ns
    while match := part.match(text, position):
        whole, _, fraction = match[1].partition(".")
        total += int(whole + fraction.ljust(18, "0")) * _DURATION_UNITS_NS[match[2]]
        position = match.end()
    return total // 10**18 if position == len(text) and position > 0 else None
