"""Several figures of the same thing, in short."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], digits: int = 3) -> dict[str, float]:
    """The least, the median and the greatest of some figures."""
    return {
        "min": round(min(values), digits),
        "median": round(median(values), digits),
        "max": round(max(values), digits),
    }
