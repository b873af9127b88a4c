"""What a machine has of huge pages."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel


@pytest.mark.parametrize(
    ("given", "counts", "memory"),
    [
        ("2Mi=64,1Gi=2", [64, 2], (64 << 21) + (2 << 30)),
        ({"2Mi": 3}, [3, 0], 3 << 21),
        ((2 << 20, 1 << 30), [0, 0], 0),
    ],
)
def test_huge_pages_are_counted(given: object, counts: list[int], memory: int) -> None:
    machine = Kernel(hugepages=given).machine  # type: ignore[arg-type]
    assert [machine.huge_page_count(size) for size in (2 << 20, 1 << 30)] == counts
    assert machine.huge_page_memory == memory


def test_counts_do_not_tell_machines_apart() -> None:
    assert Kernel(hugepages="2Mi=1").machine == Kernel(hugepages="2Mi=2").machine
