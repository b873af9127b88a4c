"""What `fakecgroup doctor` says of one thing."""

from __future__ import annotations

from fakecgroup.named_tuple import NamedTuple

YES, PARTLY, NO = "yes", "partly", "no"


class Check(NamedTuple):
    """Whether something works: YES, PARTLY or NO, what was found, and the command or setting that mends it."""

    name: str
    state: str
    found: str
    remedy: str | None = None
