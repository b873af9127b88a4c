"""What is charged for what a process holds."""

from __future__ import annotations

from fakecgroup.core.cftype import PAGE_SIZE
from fakecgroup.effects.page_tables import tables_for

_MIB = 1 << 20


def tables(mib: int) -> float:
    """MiB of the page tables for so many MiB of anonymous memory."""
    return tables_for(mib * _MIB // PAGE_SIZE) * PAGE_SIZE / _MIB


def with_tables(mib: int) -> float:
    """MiB of anonymous memory and of the page tables for it."""
    return mib + tables(mib)
