"""The engine's plans on a booted kernel: random trees, what strangers do to them, and the plans from one to the next.

The model goes along, as a plan looks at what is there; the kernel does the same operations and has the last word:
no step of a plan is refused there, and every value reads back as wanted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from errno import EBUSY
from typing import Any

from cgroup_engine.errors import StepFailedError
from cgroup_engine.plan.steps import make_plan
from fakecgroup.conformance.case import Case
from fakecgroup_mount.vm.asking import ask
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel
from tests.engine.random_trees import Machine, any_paths, any_tree, drift, kubelet_tree, processes

#: How often the wanted tree changes in each case.
_TREES_OF_A_CASE = 3
_DRIFT = 12


@dataclass
class PlanCase:
    """A case with what is known of its operations: which are a plan's steps, and what reads back as wanted.

    ``obstacles``: how many steps were left out as something foreign is in their way.
    """

    case: Case
    steps: frozenset[int]
    wanted: dict[int, str]
    obstacles: int


@dataclass
class PlansOutcome:
    """Counts, and a line for each answer that was not expected."""

    trees: int = 0
    steps: int = 0
    obstacles: int = 0
    refused: list[str] = field(default_factory=list)
    values: int = 0
    differing: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not (self.refused or self.differing or self.others or self.stopped)


def plans(kernel: Kernel, layout: str, trees: int, seed: int, report: Callable[[str], None]) -> PlansOutcome:
    """At least so many trees, each planned from the one before.  Raises MachineError."""
    planned = []
    for number in range(-(-trees // _TREES_OF_A_CASE)):
        planned.append(_case(layout, kernel.series, random.Random(f"{layout} {kernel.series} {seed} {number}"), number))
    report(f"{len(planned)} cases with {sum(len(each.case.ops) for each in planned)} operations")
    outcome = PlansOutcome(trees=len(planned) * _TREES_OF_A_CASE, obstacles=sum(each.obstacles for each in planned))
    answered = ask(kernel.image, layout, [each.case for each in planned], report)
    for each, one in zip(planned, answered, strict=True):
        if one.verdict != "ok":
            outcome.stopped.append(each.case.name)
        _judge(each, one.answers(raw=True), outcome)
    return outcome


def _case(layout: str, series: str, chance: random.Random, number: int) -> PlanCase:
    machine = Machine(layout, series)
    steps: set[int] = set()
    obstacles = 0
    wanted: Sequence[Any] = ()
    for tree in range(_TREES_OF_A_CASE):
        if tree:
            processes(chance, machine, [cgroup.path for cgroup in wanted if cgroup.level == "container"])
            drift(chance, machine, machine.cgroups("kubepods"), chance.choice((0, _DRIFT)))
        wanted = _tree(chance, machine)
        start = len(machine.log)
        plan = make_plan(wanted, machine.found(), "cgroupfs")
        outcome = machine.run(plan)
        in_the_way = {step.obstacle for step in plan.steps if step.obstacle}
        unexpected = [
            failure
            for failure in outcome.failed
            if failure.todo not in in_the_way and not _held_by_a_child(failure, layout, series)
        ]
        if unexpected:
            raise MachineError(f"case {number}: the model refuses a step: {unexpected[0]}")
        obstacles += len(outcome.failed)
        steps |= set(range(start, len(machine.log)))
    values = machine.values(wanted)
    reads = {len(machine.log) + n: text for n, text in enumerate(values.values())}
    ops = (*machine.log, *(("read", path) for path in values))
    return PlanCase(Case(f"plans {number}", layout, ops), frozenset(steps), reads, obstacles)


def _held_by_a_child(failure: StepFailedError, layout: str, series: str) -> bool:
    """Does a child hold CPUs that are to go, by a list that nobody wants? Only v2 before 6.1 minds: no plan knows."""
    is_list = (failure.path or "").endswith("/cpuset.cpus")
    return is_list and failure.errno == EBUSY and layout == "v2" and series == "5.10"


def _tree(chance: random.Random, machine: Machine) -> Sequence[Any]:
    if chance.random() < 0.5:
        return kubelet_tree(chance, machine)
    return any_tree(chance, machine, any_paths(chance))


def _judge(planned: PlanCase, answers: Sequence[Any], outcome: PlansOutcome) -> None:
    for index, (op, (errno, value)) in enumerate(zip(planned.case.ops, answers, strict=False)):
        line = f"{planned.case.name}, operation {index}: {list(op)}: {errno or value!r}"
        if index in planned.steps:
            outcome.steps += 1
            if errno is not None:
                outcome.refused.append(line)
        elif index in planned.wanted:
            outcome.values += 1
            if (errno, value) != (None, planned.wanted[index]):
                outcome.differing.append(f"{line}, wanted {planned.wanted[index]!r}")
        elif errno is not None:
            outcome.others.append(line)
