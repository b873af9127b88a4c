"""CPUs and NUMA nodes as the kernel writes them."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel
from fakecgroup.outside.cpu_lists import cpu_list, cpu_mask, cpus_of_node, memory_of_node, node_of_cpu, numbers_of


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([0], "0"), ([0, 1, 2, 3, 8], "0-3,8"), ([1, 3, 5, 6], "1,3,5-6")]
)
def test_a_list_joins_neighbours(numbers: list[int], text: str) -> None:
    assert cpu_list(numbers) == text


@pytest.mark.parametrize(
    ("mask", "bits", "text"),
    [
        (0xF, 4, "f"),
        (0x3, 5, "03"),
        (1, 64, "00000000,00000001"),
        (1 << 33, 34, "2,00000000"),
        (1 << 32, 40, "01,00000000"),
    ],
)
def test_a_mask_has_as_many_digits_as_there_may_be_cpus(mask: int, bits: int, text: str) -> None:
    assert cpu_mask(mask, bits) == text


def test_the_numbers_of_a_mask_are_its_bits() -> None:
    assert numbers_of(0b101001) == [0, 3, 5]


@pytest.mark.parametrize(("cpus", "nodes"), [(64, 2), (5, 2), (3, 3), (2, 4), (7, 1)])
def test_each_cpu_is_on_one_node(cpus: int, nodes: int) -> None:
    machine = Kernel(cpus=cpus, numa_nodes=nodes).machine
    assert [cpu for node in range(nodes) for cpu in cpus_of_node(machine, node)] == list(range(cpus))
    assert all(cpu in cpus_of_node(machine, node_of_cpu(machine, cpu)) for cpu in range(cpus))


def test_the_nodes_have_all_memory_together() -> None:
    machine = Kernel(numa_nodes=3, memory=(1 << 30) + 5).machine
    shares = [memory_of_node(machine, node) for node in range(3)]
    assert sum(shares) == machine.memory
    assert [share % 4096 for share in shares[:2]] == [0, 0]
