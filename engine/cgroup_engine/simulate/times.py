"""Times as a scenario writes them."""

from __future__ import annotations

from cgroup_engine.errors import InputError
from fakecgroup.simulation.words import parse_duration


def read_time(option: str, text: str | None) -> int | None:
    """ns of an option's `10m`, `6h` or `90` (seconds); None without a text.

    :raises InputError: no time, or none above zero.
    """
    if text is None:
        return None
    try:
        time = parse_duration(text)
    except ValueError as error:
        raise InputError(f"{option}: {error}", value=text) from None
    if time == 0:
        raise InputError(f"{option}: a time of 0 is none", value=text)
    return time
