"""What a victim still holds when the OOM killer looks past it."""

from __future__ import annotations

import pytest

from fakecgroup.effects.release import GATHERED, left_by_victim


def test_a_victim_has_released_all_before_6_1() -> None:
    assert left_by_victim(10_000, (5, 10)) == 0


@pytest.mark.parametrize("version", [(6, 1), (6, 12)])
def test_a_victim_holds_what_it_has_unmapped_last(version: tuple[int, int]) -> None:
    assert left_by_victim(5_000, version) == 5_000
    assert left_by_victim(2 * GATHERED + 7, version) == 7


def test_a_victim_is_hidden_before_it_has_released_anything_since_7_2() -> None:
    assert left_by_victim(2 * GATHERED + 7, (7, 2)) == 2 * GATHERED + 7
