"""Random cases on a booted kernel and on the model, and the shortest case for each difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.fuzz import random_cases
from fakecgroup.conformance.recording import PLAIN, SWAP
from fakecgroup.conformance.replay import Result
from fakecgroup.conformance.tally import Tally
from fakecgroup_mount.vm.kernels import Kernel

from .compare import compare
from .shrink import shrink, to_its_end

Report = Callable[[str], None]


@dataclass
class FuzzOutcome:
    """``tally`` counts; ``shortest`` has one result per differing case.

    ``unsteady``: names of cases that did not differ when they were asked again, so the kernel does not answer them
    twice; they count as no difference.  ``stopped``: names of cases that stopped the machine.
    """

    tally: Tally
    shortest: list[Result] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)


def fuzz(
    kernel: Kernel,
    layout: str,
    operations: int,
    seed: int,
    report: Report,
    machine: str = PLAIN,
    about: str = "",
    most: int = 0,
) -> FuzzOutcome:
    """About ``operations`` random operations, compared; all about memory on the machine with swap.

    ``about``: one of ``subjects(layout, kernel)`` that all cases are about, else anything.  ``most``: so many differing
    cases are made short and the others left out, 0 for all.  Raises MachineError.
    """
    outcome = FuzzOutcome(Tally("random", machine))
    differing = []
    always = "memory" if machine == SWAP else ""
    cases = random_cases(seed, layout, kernel.series, operations, always=always, about=about)
    for result, verdict in compare(kernel, layout, cases, report, machine):
        outcome.tally.add(result)
        if verdict != "ok":
            outcome.stopped.append(result.case.name)
        if result.differences:
            differing.append(to_its_end(result))

    def ask(cases: Sequence[Case]) -> list[Result]:
        return [result for result, _ in compare(kernel, layout, cases, report, machine)]

    steady = []
    for result in ask([result.case for result in differing]) if differing else ():
        if result.differences:
            steady.append(to_its_end(result))
        else:
            outcome.unsteady.append(result.case.name)
    outcome.tally.differences = [d for d in outcome.tally.differences if d.case.name not in outcome.unsteady]
    steady.sort(key=lambda result: len(result.case.ops))
    outcome.shortest = shrink(steady[:most] if most else steady, ask, report)
    return outcome
