"""How much trouble reclaim has, as v1's memory.pressure_level tells (mm/vmpressure.c). Amounts are pages."""

from __future__ import annotations

LEVELS = ("low", "medium", "critical")
WINDOW = 512
"""Scanned pages after which listeners are told (vmpressure_win)."""
LOOKS = 2
"""Looks of a round that finds what it needs: each at twice as much as the one before, the last at half of all."""
HARD_LOOKS = 4
"""Priorities of a round of reclaim at which listeners are told in any case (vmpressure_level_critical_prio to 0)."""

_MEDIUM, _CRITICAL = 60, 95  # percent of scanned pages that were not reclaimed


def level_of(scanned: int, reclaimed: int) -> int:
    """The index in LEVELS for what was scanned and reclaimed of it (vmpressure_calc_level)."""
    if reclaimed >= scanned:
        return 0
    scale = scanned + reclaimed
    pressure = (scale - reclaimed * scale // scanned) * 100 // scale
    return 2 if pressure >= _CRITICAL else 1 if pressure >= _MEDIUM else 0
