"""What victims still hold when the OOM killer looks past them."""

from __future__ import annotations

import pytest

from fakecgroup.effects.release import GATHERED, left_by_victims

_MUCH = 2 * GATHERED + 7  # pages


def test_before_anybody_was_killed_nothing_is_left() -> None:
    assert left_by_victims([], (7, 2)) == 0


def test_a_victim_has_released_all_before_6_1() -> None:
    assert left_by_victims([10_000], (5, 10)) == 0


@pytest.mark.parametrize("version", [(6, 1), (6, 12)])
def test_a_victim_holds_what_it_has_unmapped_last(version: tuple[int, int]) -> None:
    assert left_by_victims([5_000], version) == 5_000
    assert left_by_victims([5_000, _MUCH], version) == 7


def test_two_victims_are_hidden_before_they_have_released_anything_since_7_2() -> None:
    assert left_by_victims([_MUCH], (7, 2)) == _MUCH
    assert left_by_victims([1, 20, 300], (7, 2)) == 320
