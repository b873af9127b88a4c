"""Random cases: what is generated, and how a difference is made short."""

from __future__ import annotations

from collections import Counter

import pytest

from fakecgroup.conformance.fuzz import random_cases, subjects
from fakecgroup.conformance.recording import RecordedCase
from fakecgroup.conformance.replay import replay
from fakecgroup.conformance.target_model import ModelTarget

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


@pytest.mark.parametrize(("layout", "kernel"), PAIRS)
def test_cases_can_be_about_each_subject(layout: str, kernel: str) -> None:
    target = ModelTarget(layout, kernel)
    for about in subjects(layout, kernel):
        cases = random_cases(1, layout, kernel, 1200, about=about)
        assert cases == random_cases(1, layout, kernel, 1200, about=about)
        assert sum(len(case.ops) for case in cases) == 1200
        for case in cases:
            replay(RecordedCase("random", case, tuple(("?", None) for _ in case.ops)), target)


def test_another_subject_is_refused() -> None:
    with pytest.raises(ValueError, match="there is cpus, threads, capabilities"):
        random_cases(1, "v1", "6.1", 60, about="partitions")


@pytest.mark.parametrize("kernel", ["6.12", "7.2"])
def test_partition_cases_reach_every_state(kernel: str) -> None:
    target = ModelTarget("v2", kernel)
    seen: Counter[str] = Counter()
    remote = 0
    for case in random_cases(1, "v2", kernel, 4000, about="partitions"):
        target.start(case)
        for op in case.ops:
            error, value = target.do(op)
            if op[0] == "read" and str(op[1]).endswith(".partition") and error is None:
                seen[value.rstrip("\n")] += 1
        csses = [cgroup.csses.get("cpuset") for cgroup in target.kernel.hierarchies[0].root.descendants()]
        remote += sum(getattr(css, "remote", False) for css in csses)
        target.finish()
    assert {"root", "isolated", "member", "root invalid (Parent is not a partition root)"} <= seen.keys()
    assert {"isolated invalid (Parent unable to distribute cpu downstream)"} <= seen.keys()
    assert remote


def test_thread_cases_leave_threads_in_other_cgroups_than_their_leaders() -> None:
    target = ModelTarget("v2", "6.12")
    apart = 0
    for case in random_cases(1, "v2", "6.12", 2000, about="threads"):
        target.start(case)
        for op in case.ops:
            target.do(op)
        tree = target.kernel.hierarchies[0]
        tasks = [(tid, tgid) for cgroup in tree.root.descendants() for tid, tgid in cgroup.tasks.items()]
        apart += sum(tree.cgroup_of(tid) is not tree.cgroup_of(tgid) for tid, tgid in tasks)
        target.finish()
    assert apart


def test_notification_cases_tell_somebody_something() -> None:
    target = ModelTarget("v2", "6.12")
    told = 0
    for case in random_cases(1, "v2", "6.12", 2000, about="notifications"):
        target.start(case)
        for op in case.ops:
            error, value = target.do(op)
            told += op[0] in ("poll", "ready") and error is None and any("PRI" in text for text in value)
        target.finish()
    assert told
