"""Levels of memory.pressure_level."""

from __future__ import annotations

import pytest

from fakecgroup.effects.vmpressure import LEVELS, level_of


@pytest.mark.parametrize(
    ("scanned", "reclaimed", "level"),
    [
        (512, 512, "low"),
        (512, 600, "low"),
        (512, 256, "low"),
        (1000, 400, "medium"),
        (1000, 410, "low"),
        (1000, 50, "critical"),
        (1000, 60, "medium"),
        (512, 0, "critical"),
    ],
)
def test_it_is_the_share_that_was_not_reclaimed(scanned: int, reclaimed: int, level: str) -> None:
    assert LEVELS[level_of(scanned, reclaimed)] == level
