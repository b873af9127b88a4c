"""Random cases: what is generated, and how a difference is made short."""

from __future__ import annotations

from collections import Counter

import pytest

from mount.conformance.fuzz import random_cases
from mount.conformance.recording import RecordedCase
from mount.conformance.replay import replay
from mount.conformance.target_model import ModelTarget

LAYOUTS = ["v2", "v1", "hybrid"]
PAIRS = [("v2", "5.10"), ("v2", "6.12"), ("v2", "7.2"), ("v1", "6.1"), ("v1", "7.2"), ("hybrid", "6.1")]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_seed_always_gives_the_same_cases(layout: str) -> None:
    assert random_cases(7, layout, "6.1", 500) == random_cases(7, layout, "6.1", 500)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_seeds_have_no_case_in_common(layout: str) -> None:
    first, second = ({str(case.ops) for case in random_cases(seed, layout, "6.1", 3000)} for seed in (1, 2))
    assert not first & second


@pytest.mark.parametrize(("layout", "directory"), [("v2", ""), ("v1", "memory/")])
def test_every_case_can_be_about_one_controller(layout: str, directory: str) -> None:
    for case in random_cases(1, layout, "6.1", 3000, always="memory"):
        ops = [str(part) for op in case.ops for part in op]
        assert any(part.startswith(directory) and "memory" in part for part in ops), case.name


@pytest.mark.parametrize("operations", [1, 59, 60, 61, 500])
def test_there_are_as_many_operations_as_asked_for(operations: int) -> None:
    assert sum(len(case.ops) for case in random_cases(1, "v2", "6.12", operations)) == operations


@pytest.mark.parametrize(("layout", "kernel"), PAIRS)
def test_the_model_survives_random_cases(layout: str, kernel: str) -> None:
    target = ModelTarget(layout, kernel)
    for case in random_cases(3, layout, kernel, 6000):
        unknown = RecordedCase("random", case, tuple(("?", None) for _ in case.ops))
        result = replay(unknown, target)  # an exception that is no errno comes through
        assert result.skipped == len(case.ops)


@pytest.mark.parametrize(("layout", "kernel"), PAIRS)
def test_random_cases_reach_every_file_that_can_be_written(layout: str, kernel: str) -> None:
    target = ModelTarget(layout, kernel)
    written: Counter[str] = Counter()
    wanted: set[str] = set()
    for case in (case for seed in (1, 2) for case in random_cases(seed, layout, kernel, 20000)):
        target.start(case)
        for op in case.ops:
            error, _ = target.do(op)
            if op[0] == "write" and error is None:
                written[str(op[1]).rpartition("/")[2]] += 1
        target.finish()
    for hierarchy in target.kernel.hierarchies:
        wanted |= {name for name, entry in hierarchy.child_table.items() if entry.row.permissions & 0o222}
    never = {"rdma.max", "misc.max", "cgroup.event_control", "memory.pressure_level"}  # no text would do
    assert wanted - never - written.keys() == set()
