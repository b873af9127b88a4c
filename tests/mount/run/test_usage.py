"""What short-lived processes use is counted under `fakecgroup run`, as they are asked before they exit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

FAMILY = f"'{sys.executable}' -S -E '{Path(__file__).parents[1] / 'family.py'}'"
STARTS = f"""
cd /sys/fs/cgroup; echo +memory >cgroup.subtree_control; mkdir a
for seed in 1 2 3; do {FAMILY} cpu.stat a %s $seed %s; done
"""


def is_about(counted: int, used: int) -> bool:
    """In ms: what the kernel shows of what was waited for is cut off to 10 ms, twice."""
    return used - max(10, used * 0.02) <= counted <= used + 30 + used * 0.05


@pytest.mark.parametrize("how", ["into", "join"])
def test_the_time_of_the_short_lived_is_counted_though_no_parent_is_in_a_cgroup(sandboxed: Sandboxed, how: str) -> None:
    families = [tuple(map(int, line.split())) for line in said(sandboxed(STARTS % (how, ""))).splitlines()]
    assert [is_about(counted, used) for used, counted in families] == [True] * 3, families


def test_the_memory_of_a_short_lived_process_is_in_the_peak(sandboxed: Sandboxed) -> None:
    script = f"{STARTS % ('into', 'memory')} cat a/memory.peak"
    assert int(said(sandboxed(script)).split()[-1]) > 50 << 20
