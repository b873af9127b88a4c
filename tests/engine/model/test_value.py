"""Values that are frozen for type checkers alone."""

from __future__ import annotations

from dataclasses import replace

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.value import value


@value(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


def test_equal_values_are_one_in_a_set() -> None:
    assert {Point(1), Point(1, 0), replace(Point(2), x=1)} == {Point(1)}


def test_a_value_has_slots() -> None:
    assert not hasattr(CgroupLimits(), "__dict__")
