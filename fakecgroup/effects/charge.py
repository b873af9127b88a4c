"""How pages are charged to a cgroup (mm/memcontrol.c, try_charge_memcg)."""

from __future__ import annotations

CHARGE_BATCH = 64  # pages (MEMCG_CHARGE_BATCH)
MAX_RECLAIM_RETRIES = 16
MAX_BEFORE_KILL = 18
"""`max` that a charge counts that finds nothing to reclaim, until somebody is killed (seen on 6.12 and 7.2)."""
MAX_OF_VICTIM = 17
"""`max` for the rest of what the victim touches, if it is the one that grew (likewise)."""


def charge_batch(version: tuple[int, int]) -> int:
    """Pages that a CPU takes at once, of which it keeps what is not used yet; 32 before 6.1 (MEMCG_CHARGE_BATCH)."""
    return CHARGE_BATCH if version >= (6, 1) else 32
