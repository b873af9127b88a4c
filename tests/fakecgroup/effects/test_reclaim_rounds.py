"""How many rounds of reclaim a process needs."""

from __future__ import annotations

import pytest

from fakecgroup.effects.reclaim_rounds import rounds_of_reclaim


@pytest.mark.parametrize(("pages", "rounds"), [(1, 1), (32, 1), (33, 2)])
def test_a_round_swaps_out_32_pages(pages: int, rounds: int) -> None:
    assert rounds_of_reclaim((5, 10), swapped=pages) == rounds


@pytest.mark.parametrize(("version", "rounds"), [((6, 12), 90), ((7, 2), 180)])
def test_a_round_takes_a_batch_of_a_generation(version: tuple[int, int], rounds: int) -> None:
    """64 pages as on a booted 6.12, 32 as on 7.2."""
    assert rounds_of_reclaim(version, dropped=5760, listed=10_000) == rounds


def test_a_list_that_is_refilled_gives_the_same_in_each_round() -> None:
    """Booted 5.10 and 6.1: 335 rounds for a file read through 7,557 pages: 1, 3, 7, 14 and 29 in each."""
    assert rounds_of_reclaim((6, 1), dropped=18_040, listed=7_557, refilled=True) == 335


def test_a_list_that_shrinks_gives_between_32_and_63_pages_in_a_round() -> None:
    """Booted 5.10 and 6.1: 131 rounds for 5,757 pages of 10,282."""
    assert rounds_of_reclaim((6, 1), dropped=5_757, listed=10_282) == 131


def test_a_large_list_gives_32_pages_in_a_round() -> None:
    assert rounds_of_reclaim((6, 1), dropped=1_000_000, listed=10_000_000) == 31_250
