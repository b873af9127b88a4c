"""Page tables for anonymous pages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakecgroup.effects.page_tables import pages_within, tables_for


@pytest.mark.parametrize(
    ("pages", "tables"), [(0, 0), (1, 2), (512, 2), (513, 3), (1 << 18, 513), ((1 << 18) + 1, 515)]
)
def test_a_table_maps_2_mib_and_its_next_level_1_gib(pages: int, tables: int) -> None:
    assert tables_for(pages) == tables


@settings(deadline=None)
@given(st.integers(1, 1 << 20), st.integers(0, 1 << 20))
def test_pages_and_their_new_tables_are_what_is_charged(charged: int, pages: int) -> None:
    tables = tables_for(pages)
    more = pages_within(charged, pages, tables)
    assert more + tables_for(pages + more) - tables <= charged
    assert more == charged or more + 1 + tables_for(pages + more + 1) - tables > charged
