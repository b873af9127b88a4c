"""The order of a plan's steps: none is refused, none makes anything looser or tighter than before and after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.down import down_plan
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.steps import make_plan

from ..random_trees import (
    Machine,
    any_paths,
    any_tree,
    drift,
    extra_children,
    kubelet_node,
    kubelet_pods,
    kubelet_tree,
    processes,
    sizes,
    sizes_of,
)

KERNELS = [("v1", "5.10"), ("v1", "6.1"), ("v2", "5.10"), ("v2", "6.1"), ("v2", "6.12"), ("v2", "7.2")]
# so many trees of each test and kernel, always the same ones; FAKECGROUP_TREES asks for more, and for others each time
TREES = os.environ.get("FAKECGROUP_TREES")
many = settings(
    max_examples=int(TREES or 6),
    derandomize=TREES is None,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
chances = st.randoms(use_true_random=False)
every_kernel = pytest.mark.parametrize(("layout", "version"), KERNELS)


class Watched:
    """A plan as it is executed, with every state between."""

    def __init__(self, machine: Machine, plan: Plan) -> None:
        self.machine = machine
        self.plan = plan
        self.states = [self._state()]
        self.steps: list[Any] = []
        self.outcome = machine.run(plan, self._note)

    def _state(self) -> dict[str, dict[str, Any]]:
        return {path: sizes(self.machine, path) for path in self.machine.cgroups()}

    def _note(self, step: Step) -> None:
        state = dict(self.states[-1])
        if step.file == "cgroup.subtree_control":
            state = self._state()
        elif step.action == "write":
            state[step.cgroup] = {**state.get(step.cgroup, {}), **sizes(self.machine, step.cgroup, step.knob)}
        self.states.append(state)
        self.steps.append(step)

    def strays(self) -> Iterator[Any]:
        """Every state that is not between the first and the last, and does not say that it must be so."""
        first, last = self.states[0], self._state()
        needing = {}
        for step, state in zip(self.steps, self.states[1:], strict=True):
            if step.knob is None:
                continue
            needing[step.cgroup, step.knob.field] = bool(step.need)
            below = [path for path in first if f"{path}/".startswith(f"{step.cgroup}/") and path in last]
            if step.knob.field == "cpus" and self.machine.layout.version == 2:
                below = [step.cgroup]  # with contradicting lists a v2 cgroup has its parent's CPUs
            for path in below:
                for name in sizes_of(step.knob):
                    if name not in first.get(path, {}) or name not in last.get(path, {}):
                        continue
                    own = first[path][name], state[path][name], last[path][name]
                    ends = [_effective(each, path, name) for each in (first, state, last)]
                    exempt = any(needing.get((up, step.knob.field)) for up in _upwards(path))
                    if not exempt and not ((name == "quota" or _between(*own)) and _between(*ends)):
                        yield f"{step.path} = {step.text}: {path} {name}: own {own}, effective {ends}"


def _upwards(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]


def _between(before: Any, now: Any, after: Any) -> bool:
    if isinstance(now, frozenset):
        return bool(before & after <= now <= before | after)
    return bool(min(before, after) <= now <= max(before, after))


def _effective(state: dict[str, dict[str, Any]], path: str, name: str) -> Any:
    """The effective value: the least on the way up; of CPUs those that all have."""
    on_the_way = [state.get(up, {}).get(name) for up in _upwards(path)]
    if name == "cpuset.cpus":
        cpus = frozenset(range(4))
        for own in reversed(on_the_way):
            cpus = (own & cpus if own else cpus) or cpus
        return cpus
    if name in ("cpu.shares", "cpu.weight", "memory.oom.group"):
        return on_the_way[0]
    return min(size for size in on_the_way if size is not None)


def _plan(machine: Machine, wanted: tuple[WantedCgroup, ...] | list[WantedCgroup]) -> Plan:
    return make_plan(wanted, machine.found(), "cgroupfs")


def _check(machine: Machine, wanted: list[WantedCgroup]) -> None:
    plan = _plan(machine, wanted)
    watched = Watched(machine, plan)
    assert (watched.outcome.failed, watched.outcome.skipped) == ([], [])
    assert list(watched.strays()) == []
    assert _plan(machine, wanted).steps == ()


@every_kernel
@many
@given(chance=chances)
def test_a_kubelets_tree_becomes_any_other(layout: str, version: str, chance: Any) -> None:
    machine = Machine(layout, version)
    for _ in range(3):
        _check(machine, kubelet_tree(chance, machine))


@every_kernel
@many
@given(chance=chances)
def test_a_tree_of_any_values_becomes_any_other(layout: str, version: str, chance: Any) -> None:
    machine = Machine(layout, version)
    for _ in range(3):
        _check(machine, any_tree(chance, machine, any_paths(chance)))


@every_kernel
@many
@given(chance=chances)
def test_whatever_a_stranger_wrote_is_repaired(layout: str, version: str, chance: Any) -> None:
    machine = Machine(layout, version)
    wanted = any_tree(chance, machine, any_paths(chance)) if chance.random() < 0.5 else kubelet_tree(chance, machine)
    _check(machine, wanted)
    drift(chance, machine, machine.cgroups("kubepods"), 20)
    _check(machine, wanted if chance.random() < 0.5 else any_tree(chance, machine, any_paths(chance)))


# before 6.1 v2 refuses lists of CPUs too, but a plan cannot tell the kernels apart
@pytest.mark.parametrize(("layout", "version"), [kernel for kernel in KERNELS if kernel != ("v2", "5.10")])
@many
@given(chance=chances)
def test_what_is_not_ours_and_in_the_way_is_one_failure_each_that_names_it(
    layout: str, version: str, chance: Any
) -> None:
    machine = Machine(layout, version)
    _check(machine, any_tree(chance, machine, any_paths(chance)))
    there = machine.cgroups("kubepods")
    processes(chance, machine, [path for path in there if path.count("/") > 2])
    drift(chance, machine, [*there, *extra_children(chance, machine, there, 3)], 30)
    plan = _plan(machine, any_tree(chance, machine, any_paths(chance)))
    failed = machine.run(plan).failed
    in_the_way = {step.obstacle for step in plan.steps if step.obstacle}
    assert {failure.todo for failure in failed} <= in_the_way
    assert len(failed) == len({failure.todo for failure in failed})


@every_kernel
@many
@given(chance=chances)
def test_down_removes_a_tree_whatever_a_stranger_wrote(layout: str, version: str, chance: Any) -> None:
    machine = Machine(layout, version)
    node = kubelet_node(chance, machine)
    assert machine.run(_plan(machine, wanted_tree(node, kubelet_pods(chance, node, range(1, 4))))).failed == []
    drift(chance, machine, machine.cgroups("kubepods"), 20)
    down = down_plan(wanted_tree(node, []), machine.found(), "cgroupfs")
    assert machine.run(down).failed == []
    assert machine.found().get("kubepods") is None


@pytest.mark.parametrize("version", ["5.10", "6.12", "7.2"])
def test_down_leaves_processes_of_a_reserved_cgroup_their_cpus(
    make_node: Callable[..., NodeConfig], version: str
) -> None:
    machine = Machine("v2", version)
    machine.write("cgroup.subtree_control", "+cpuset +cpu +memory +pids +hugetlb")
    machine.mkdir("kube")
    fields = {"enforceNodeAllocatable": ["kube-reserved"], "kubeReserved": {"cpu": "1"}, "kubeReservedCgroup": "/kube"}
    node = replace(make_node(**fields), cgroup_version=2, cpu_list="0-3")
    assert machine.run(_plan(machine, wanted_tree(node, []))).failed == []
    machine.process_in("kube")
    down = down_plan(wanted_tree(node, []), machine.found(), "cgroupfs")
    assert machine.run(down).failed == []
    assert "/kube: cpuset.cpus stays 0-3, as processes or cgroups in it need a list" in down.kept


def test_a_plan_says_where_the_kernel_leaves_no_other_way(make_tree: tuple[Machine, Callable[..., Any]]) -> None:
    machine, wanted = make_tree
    machine.run(_plan(machine, wanted("0-1", "0-1")))
    [both, child, parent] = [step for step in _plan(machine, wanted("1-2", "1-2")).steps if step.file == "cpuset.cpus"]
    assert [step.text for step in (both, child, parent)] == ["0-2", "1-2", "1-2"]
    assert both.need == "a moment with both: children still have CPUs that it leaves"
    assert (child.need, parent.need) == ("", "")


def test_a_list_of_cpus_moves_at_once_where_children_leave_the_old_ones_before(
    make_tree: tuple[Machine, Callable[..., Any]],
) -> None:
    machine, wanted = make_tree
    machine.run(_plan(machine, wanted("0-1", "0-1")))
    steps = [step for step in _plan(machine, wanted("1-2", "1")).steps if step.file == "cpuset.cpus"]
    assert [(step.during, step.text, step.need) for step in steps] == [("lower", "1", ""), ("make", "1-2", "")]


@pytest.fixture
def make_tree() -> tuple[Machine, Callable[..., Any]]:
    """A v1 kernel with a cgroup and a child that have these lists of CPUs."""

    def wanted(parent: str, child: str) -> list[WantedCgroup]:
        return [
            WantedCgroup("kubepods", "node", "node", CgroupLimits(cpus=parent)),
            WantedCgroup("kubepods/burstable", "qos", "Burstable", CgroupLimits(cpus=child)),
        ]

    return Machine("v1", "6.1"), wanted
