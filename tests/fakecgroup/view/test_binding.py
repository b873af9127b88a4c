"""Whose limit acts on a cgroup."""

from __future__ import annotations

import pytest

from fakecgroup.view.binding import bind
from fakecgroup.view.node import Meter, Node, Unit


def tree(*meters: tuple[float | None, float | None], unit: Unit = "bytes") -> list[Node]:
    """A path of cgroups, each with what is used and its limit."""
    return [
        Node("/" * number, number - 1 if number else None, meters=[Meter("memory", unit, used, limit)])
        for number, (used, limit) in enumerate(meters)
    ]


@pytest.mark.parametrize(
    ("meters", "bound"),
    [
        ([(5, None), (5, None)], [None, None]),
        ([(5, None), (5, 10)], [None, 1]),
        ([(50, 60), (5, 100)], [0, 0]),  # 10 are left above, 95 here
        ([(50, 100), (5, 10)], [0, 1]),
        ([(50, 55), (5, 10)], [0, 1]),  # of equal ones the nearest
        ([(50, 60), (5, None), (5, 10)], [0, 0, 2]),
        ([(None, 60), (None, 100)], [0, 0]),  # nobody knows what is used: the lowest
    ],
)
def test_the_limit_with_the_least_left_acts(meters: list[tuple[float | None, float | None]], bound: list[int]) -> None:
    nodes = tree(*meters)
    bind(nodes)
    assert [node.meters[0].bound_by for node in nodes] == bound


def test_of_quotas_the_lowest_acts() -> None:
    nodes = tree((None, 2.0), (None, 4.0), (None, 0.5), unit="cpus")
    bind(nodes)
    assert [node.meters[0].bound_by for node in nodes] == [0, 0, 2]


def test_siblings_do_not_bind_each_other() -> None:
    nodes = [
        Node("/", None),
        Node("/a", 0, meters=[Meter("pids", "count", 1, 2)]),
        Node("/b", 0, meters=[Meter("pids", "count", 1, None)]),
    ]
    bind(nodes)
    assert nodes[2].meters[0].bound_by is None
