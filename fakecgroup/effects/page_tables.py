"""Page tables of a process (mm/memory.c, arch/x86/include/asm/pgalloc.h). Amounts are pages.

Each takes a page, which is charged to the process's cgroup like what it maps (memory.stat: pagetables). Those of the
upper levels are there since the process began.
"""

from __future__ import annotations

ENTRIES = 512
"""Pages that a table maps, and tables of which the next level's maps as many (PTRS_PER_PTE, PTRS_PER_PMD)."""


def tables_for(pages: int) -> int:
    """Tables for so many anonymous pages in a row, swapped out or not."""
    tables = -(-pages // ENTRIES)
    return tables - (-tables // ENTRIES)


def pages_within(charged: int, pages: int, tables: int) -> int:
    """How many pages can be added to `pages` with `tables`, so that with new tables so many are `charged` at most.

    Where a table is all that there is room for, none can.
    """
    more = max(0, charged - (tables_for(pages + charged) - tables))
    while more < charged and more + 1 + max(0, tables_for(pages + more + 1) - tables) <= charged:
        more += 1
    return more
