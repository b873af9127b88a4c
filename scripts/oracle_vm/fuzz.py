"""Random cases on a booted kernel and on the model, and the shortest case for each difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mount.conformance.case import Case
from mount.conformance.command import Tally
from mount.conformance.fuzz import random_cases
from mount.conformance.recording import PLAIN, SWAP
from mount.conformance.replay import Result

from .compare import compare
from .kernels import Kernel

Report = Callable[[str], None]
#: Positions of operations that are taken out of a case.
Removal = frozenset[int]


@dataclass
class Outcome:
    """``tally`` counts; ``shortest`` has one result per differing case.

    ``unsteady``: names of cases that did not differ when they were asked again, so the kernel does not answer them
    twice; they count as no difference.  ``stopped``: names of cases that stopped the machine.
    """

    tally: Tally
    shortest: list[Result] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)


def fuzz(kernel: Kernel, layout: str, operations: int, seed: int, report: Report, machine: str = PLAIN) -> Outcome:
    """About ``operations`` random operations, compared; all about memory on the machine with swap.

    Raises OracleError.
    """
    outcome = Outcome(Tally("random", machine))
    differing = []
    cases = random_cases(seed, layout, kernel.series, operations, always="memory" if machine == SWAP else "")
    for result, verdict in compare(kernel, layout, cases, report, machine):
        outcome.tally.add(result)
        if verdict != "ok":
            outcome.stopped.append(result.case.name)
        if result.differences:
            differing.append(_to_its_end(result))
    steady = []
    for result, _ in compare(kernel, layout, [result.case for result in differing], report, machine):
        if result.differences:
            steady.append(_to_its_end(result))
        else:
            outcome.unsteady.append(result.case.name)
    outcome.tally.differences = [d for d in outcome.tally.differences if d.case.name not in outcome.unsteady]
    outcome.shortest = shorten(kernel, layout, steady, report, machine)
    return outcome


def shorten(
    kernel: Kernel, layout: str, differing: Sequence[Result], report: Report, machine: str = PLAIN
) -> list[Result]:
    """Takes operations out of cases as long as they differ: quarters first, single ones in the end.

    All cases are asked in one batch: first without each piece, then without all or half of the pieces that can go.
    """
    best = {result.case.name: result for result in differing}
    size = {name: max(1, len(result.case.ops) // 4) for name, result in best.items()}
    while size:
        report(f"shortening {len(size)} cases of {sum(len(best[name].case.ops) for name in size)} operations")
        pieces = {name: _pieces(len(best[name].case.ops) - 1, size[name]) for name in size}
        found = _without(kernel, layout, best, pieces, report, machine)
        together = {name: _unions(list(results)) for name, results in found.items()}
        for name, results in _without(kernel, layout, best, together, report, machine).items():
            found[name].update(results)
        for name in list(size):
            if name in found:
                best[name] = min(found[name].values(), key=lambda result: len(result.case.ops))
            if size[name] > 1:
                size[name] = max(1, min(size[name], len(best[name].case.ops)) // 4)
            elif name not in found:
                del size[name]
    return list(best.values())


def _without(
    kernel: Kernel,
    layout: str,
    best: Mapping[str, Result],
    removals: Mapping[str, Sequence[Removal]],
    report: Report,
    machine: str,
) -> dict[str, dict[Removal, Result]]:
    """By the name of a case, the removals after which it still differs, with what is left up to the difference."""
    asked = [(name, removal) for name, several in removals.items() for removal in several]
    cases = []
    for name, removal in asked:
        case = best[name].case
        cases.append(Case(name, layout, tuple(op for n, op in enumerate(case.ops) if n not in removal)))
    found: dict[str, dict[Removal, Result]] = {}
    for (name, removal), (result, _) in zip(asked, compare(kernel, layout, cases, report, machine), strict=True):
        if result.differences:
            found.setdefault(name, {})[removal] = _to_its_end(result)
    return found


def _pieces(length: int, size: int) -> list[Removal]:
    return [frozenset(range(start, min(start + size, length))) for start in range(0, length, size)]


def _unions(removals: Sequence[Removal]) -> list[Removal]:
    """All together, the halves, the quarters and every other one; none for a single removal."""
    count = len(removals)
    if count < 2:
        return []
    groups = [removals, removals[: count // 2], removals[count // 2 :], removals[::2], removals[1::2]]
    if count >= 8:
        groups += [removals[start : start + count // 4] for start in range(0, count, count // 4)]
    return [frozenset().union(*group) for group in groups]


def _to_its_end(result: Result) -> Result:
    """The case without what comes after its first difference, which may follow from it."""
    end = result.differences[0].index + 1
    case = Case(result.case.name, result.case.layout, result.case.ops[:end])
    return Result(case, result.compared, result.skipped, result.differences[:1])
