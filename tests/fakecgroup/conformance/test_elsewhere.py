"""Cases in cgroups in place of the roots, on another machine: what is compared, and what is left out."""

from __future__ import annotations

from collections import Counter

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Answer, Case, Op
from fakecgroup.conformance.elsewhere import Elsewhere
from fakecgroup.conformance.placed_model import PlacedModel
from fakecgroup.conformance.recording import PLAIN
from fakecgroup.conformance.setting import Setting
from fakecgroup.conformance.tally import chosen, compare
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup.machine.learnt_files import read_learnt

RECORDED = recording.description("v2", "6.12")
ALL = PlacedModel.controllers_of("v2", "6.12")
DELEGATED = ("cpuset", "cpu", "io", "memory", "pids")
SMALL = {"cpus": 3, "nodes": 1, "memory": 1536 << 20, "block_devices": []}

MACHINE = "the answer follows from the CPUs, NUMA nodes, memory or devices of the machine"
PLACE = "the answer is another below a root, or to another owner"
CONTROLLERS = "the answer follows from controllers that are not delegated"


def asked(setting: Setting, *ops: tuple[object, ...], layout: str = "v2") -> list[object]:
    """The answer to each operation, or why it is left out, on a kernel in a setting; a model plays that kernel."""
    target = Elsewhere(PlacedModel(layout, "6.12", setting), setting, layout, "6.12")
    target.start(Case("elsewhere", layout, ops))
    found: list[object] = []
    for op in ops:
        try:
            found.append(target.do(op))
        except UnsupportedError as reason:
            assert not reason.ends
            found.append(str(reason))
    target.finish()
    return found


def test_what_is_the_same_everywhere_is_compared() -> None:
    ops = ("write", "cgroup.subtree_control", "+pids"), ("mkdir", "a"), ("read", "a/pids.max")
    assert asked(Setting(SMALL, DELEGATED), *ops) == [(None, None), (None, None), (None, "max\n")]


def test_a_learnt_kernel_s_own_rules_and_machine_tell_what_is_left_out() -> None:
    learnt = read_learnt("debian-6.16-cloud-amd64.kernel")
    setting = Setting(SMALL, DELEGATED)
    target = Elsewhere(PlacedModel("v2", learnt, setting), setting, "v2", learnt)
    target.start(Case("elsewhere", "v2", ()))
    assert target.do(("write", "cgroup.subtree_control", "+io +cpuset")) == (None, None)
    target.do(("mkdir", "a"))
    assert target.do(("read", "a/cpu.max.burst"))[0] == "ENOENT@open"
    with pytest.raises(UnsupportedError, match=MACHINE):
        target.do(("write", "a/io.max", "259:0 rbps=1"))


def test_the_processes_of_the_root_are_in_a_cgroup_beside_its_place() -> None:
    ops = (
        ("write", "cgroup.subtree_control", "+pids"),
        ("read", "cgroup.procs"),
        ("mkdir", "a"),
        ("fork", "w"),
        ("write", "a/cgroup.procs", "$w"),
        ("proc", "w", "cgroup"),
        ("write", "cgroup.procs", "$w"),
        ("proc", "w", "cgroup"),
    )
    answers = asked(Setting(SMALL, DELEGATED), *ops)
    assert answers[5:] == [(None, "0::/a\n"), (None, None), (None, "0::/\n")]


def test_a_file_that_a_root_has_not_is_left_out() -> None:
    assert asked(Setting(RECORDED, ALL), ("read", "cgroup.events"), ("read", "io.cost.qos")) == [PLACE, PLACE]


def test_cpus_that_the_machine_has_not_are_left_out() -> None:
    ops = (
        ("write", "cgroup.subtree_control", "+cpuset"),
        ("mkdir", "a"),
        ("write", "a/cpuset.cpus", "0-2"),
        ("write", "a/cpuset.cpus", "0-3"),
        ("read", "a/cpuset.cpus.effective"),
    )
    assert asked(Setting(SMALL, DELEGATED), *ops)[2:] == [(None, None), MACHINE, MACHINE]
    assert asked(Setting(RECORDED, DELEGATED), *ops)[2:] == [(None, None), (None, None), (None, "0-3\n")]


def test_a_controller_that_is_not_delegated_is_left_out() -> None:
    ops = ("write", "cgroup.subtree_control", "+hugetlb"), ("mkdir", "a"), ("read", "a/hugetlb.2MB.max")
    assert asked(Setting(SMALL, DELEGATED), *ops) == [CONTROLLERS, (None, None), CONTROLLERS]


def test_what_belongs_to_the_user_is_left_out() -> None:
    user = Setting(SMALL, DELEGATED, uid=1000, gid=1000)
    assert asked(user, ("mkdir", "a"), ("stat", "a"), ("chmod", "a", "0700")) == [(None, None), PLACE, (None, None)]


def test_a_value_of_the_place_shows_below_it() -> None:
    narrow = Setting(RECORDED, DELEGATED, {"cpuset.cpus": "1-2"})
    ops = ("write", "cgroup.subtree_control", "+cpuset"), ("mkdir", "a"), ("read", "a/cpuset.cpus.effective")
    assert asked(narrow, *ops)[2] == MACHINE


def test_the_v1_part_is_compared_below_its_roots() -> None:
    ops = (
        ("mkdir", "pids/a"),
        ("fork", "w"),
        ("write", "pids/a/tasks", "$w"),
        ("proc", "w", "cgroup"),
        ("mkdir", "unified/b"),
        ("write", "unified/b/cgroup.procs", "$w"),
        ("write", "unified/cgroup.procs", "$w"),
    )
    answers = asked(Setting(RECORDED), *ops, layout="hybrid")
    place = str(answers.pop(3))
    assert ("1:pids:/a" in place, "0::/" in place) == (True, True)
    assert answers == [(None, None)] * 6


def test_mount_options_that_the_recorded_kernel_has_not_are_passed_over() -> None:
    newer = Setting({**SMALL, "mount_options": ["nsdelegate", "pids_localevents"]}, DELEGATED)
    target = PlacedModel("v2", "6.1", newer)
    target.start(Case("newer", "v2", (("mkdir", "a"),)))
    assert target.do(("mkdir", "a")) == (None, None)


class Full(PlacedModel):
    """A machine on which a limit holds fewer cgroups, as each takes more kernel memory there."""

    def do(self, op: Op) -> Answer:
        if op[:2] == ("write", "cgroup.subtree_control"):
            return ("ENOMEM@write", None)
        return ("ENOMEM", None) if op == ("mkdir", "a/b") else super().do(op)


@pytest.mark.parametrize("last", [("mkdir", "a/b"), ("write", "cgroup.subtree_control", "+pids")])
def test_a_case_ends_where_a_cgroup_takes_more_kernel_memory(last: tuple[str, ...]) -> None:
    setting = Setting(SMALL, DELEGATED)
    target = Elsewhere(Full("v2", "6.12", setting), setting, "v2", "6.12")
    target.start(Case("memory", "v2", (("mkdir", "a"), last)))
    assert target.do(("mkdir", "a")) == (None, None)
    with pytest.raises(UnsupportedError, match="how much kernel memory a cgroup takes") as reason:
        target.do(last)
    assert reason.value.ends


class Wrong(PlacedModel):
    """A kernel that answers one thing as none does."""

    def do(self, op: Op) -> Answer:
        error, value = super().do(op)
        return (error, "junk\n") if op == ("read", "a/cgroup.freeze") else (error, value)


@pytest.mark.parametrize("uid", [0, 1000])
def test_a_difference_shows_wherever_the_case_is_done(uid: int) -> None:
    setting = Setting(SMALL, DELEGATED, uid=uid, gid=uid)
    target = Elsewhere(Wrong("v2", "6.12", setting), setting, "v2", "6.12")
    (tally,) = compare(target, PLAIN, recording.load("v2", "6.12").family("freeze"), lambda done, of: None)
    assert {difference.got for difference in tally.differences} == {(None, "junk\n")}


@pytest.mark.parametrize(("layout", "kernel"), [("v2", "6.1"), ("v2", "7.2"), ("hybrid", "6.12"), ("v1", "6.1")])
def test_a_kernel_that_is_the_recorded_one_has_no_difference(layout: str, kernel: str) -> None:
    setting = Setting(SMALL, DELEGATED)
    target = Elsewhere(PlacedModel(layout, kernel, setting), setting, layout, kernel)
    cases = chosen(recording.load(layout, kernel), ["processes", "freeze", "pids", "threads"])
    tallies = compare(target, PLAIN, cases, lambda done, of: None)
    assert [difference for tally in tallies for difference in tally.differences] == []
    left_out = sum((tally.left_out for tally in tallies), Counter())
    assert left_out.total() < sum(tally.compared for tally in tallies)
