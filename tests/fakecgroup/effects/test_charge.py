"""Batches of pages."""

from __future__ import annotations

import pytest

from fakecgroup.effects.charge import charge_batch, rounds_of_reclaim


@pytest.mark.parametrize(("version", "pages"), [((5, 10), 32), ((6, 1), 64), ((7, 2), 64)])
def test_a_batch_has_64_pages_and_32_before_6_1(version: tuple[int, int], pages: int) -> None:
    assert charge_batch(version) == pages


def test_each_round_of_reclaim_gets_32_pages() -> None:
    assert [rounds_of_reclaim(pages) for pages in (1, 32, 33)] == [1, 1, 2]
