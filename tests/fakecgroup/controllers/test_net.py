"""Rules of net_cls and net_prio that people get wrong."""

from __future__ import annotations

from errno import ENODEV, ENOSPC

import pytest

from fakecgroup import Kernel

HERE = "net_cls,net_prio"


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel("v1", "6.1")
    kernel.mkdir(f"{HERE}/a")
    return kernel


def test_a_class_is_kept_in_32_bits_and_reads_as_decimal(kernel: Kernel) -> None:
    kernel.write(f"{HERE}/a/net_cls.classid", "0x100010001")
    assert kernel.read(f"{HERE}/a/net_cls.classid") == "65537\n"


def test_a_child_takes_class_and_priority_over_when_it_is_made_and_not_later(kernel: Kernel) -> None:
    kernel.write(f"{HERE}/a/net_cls.classid", "1")
    kernel.write(f"{HERE}/a/net_prio.ifpriomap", "lo 5")
    kernel.mkdir(f"{HERE}/a/b")
    kernel.write(f"{HERE}/a/net_cls.classid", "2")
    kernel.write(f"{HERE}/a/net_prio.ifpriomap", "lo 6")
    assert kernel.read(f"{HERE}/a/b/net_cls.classid") == "1\n"
    assert kernel.read(f"{HERE}/a/b/net_prio.ifpriomap") == "lo 5\n"


def test_an_interface_that_is_not_there_has_no_priority(kernel: Kernel) -> None:
    with pytest.raises(OSError) as refused:
        kernel.write(f"{HERE}/a/net_prio.ifpriomap", "eth0 5")
    assert refused.value.errno == ENODEV


def test_the_index_of_a_removed_group_is_given_to_the_next_one(kernel: Kernel) -> None:
    for name in "bc":
        kernel.mkdir(f"{HERE}/{name}")
    kernel.rmdir(f"{HERE}/a")
    kernel.mkdir(f"{HERE}/d")
    assert [kernel.read(f"{HERE}/{name}/net_prio.prioidx") for name in ("", *"bcd")] == ["1\n", "3\n", "4\n", "2\n"]


def test_there_are_65535_groups_and_a_refused_one_leaves_nothing(kernel: Kernel) -> None:
    for number in range(65535 - 2):
        kernel.mkdir(f"{HERE}/{number}")
    with pytest.raises(OSError) as refused:
        kernel.mkdir(f"{HERE}/a/b")
    assert refused.value.errno == ENOSPC
    assert "b" not in kernel.listdir(f"{HERE}/a")
    kernel.rmdir(f"{HERE}/7")
    kernel.mkdir(f"{HERE}/a/b")
