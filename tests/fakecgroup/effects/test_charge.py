"""Batches of pages."""

from __future__ import annotations

import pytest

from fakecgroup.effects.charge import charge_batch


@pytest.mark.parametrize(("version", "pages"), [((5, 10), 32), ((6, 1), 64), ((7, 2), 64)])
def test_a_batch_has_64_pages_and_32_before_6_1(version: tuple[int, int], pages: int) -> None:
    assert charge_batch(version) == pages
