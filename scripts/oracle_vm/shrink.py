"""Makes cases that differ short: takes operations out of them as long as they still differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.replay import Result

Report = Callable[[str], None]
#: Answers cases in one batch: a result for each.
Ask = Callable[[Sequence[Case]], Sequence[Result]]
#: Positions of operations that are taken out of a case.
Removal = frozenset[int]


def shrink(differing: Sequence[Result], ask: Ask, report: Report) -> list[Result]:
    """The shortest form of each case, in the order given: quarters go first, single operations in the end.

    All cases are asked in one batch: first without each piece, then without all or some of the pieces that can go.
    The names of the cases tell them apart.
    """
    best = {result.case.name: to_its_end(result) for result in differing}
    size = {name: max(1, len(result.case.ops) // 4) for name, result in best.items()}
    while size:
        report(f"shortening {len(size)} cases of {sum(len(best[name].case.ops) for name in size)} operations")
        pieces = {name: _pieces(len(best[name].case.ops) - 1, size[name]) for name in size}
        found = _without(best, pieces, ask)
        together = {name: _unions(list(results)) for name, results in found.items()}
        for name, results in _without(best, together, ask).items():
            found[name].update(results)
        for name in list(size):
            if name in found:
                best[name] = min(found[name].values(), key=lambda result: len(result.case.ops))
            if size[name] > 1:
                size[name] = max(1, min(size[name], len(best[name].case.ops)) // 4)
            elif name not in found:
                del size[name]
    return list(best.values())


def to_its_end(result: Result) -> Result:
    """The case without what comes after its first difference, which may follow from it."""
    end = result.differences[0].index + 1
    case = Case(result.case.name, result.case.layout, result.case.ops[:end])
    return Result(case, result.compared, result.left_out, result.differences[:1])


def different_forms(shortest: Sequence[Result]) -> list[Result]:
    """One result for all that came down to the same operations, whatever the directories and processes are called."""
    forms: dict[str, Result] = {}
    for result in shortest:
        forms.setdefault(_form(result.case), result)
    return list(forms.values())


def _form(case: Case) -> str:
    """The operations with each part of a path, and each process and handle, replaced by when it came first."""
    known: dict[str, str] = {}

    def name(part: str) -> str:
        return known.setdefault(part, f"<{len(known)}>")

    words = []
    for op in case.ops:
        words.append(str(op[0]))
        for argument in op[1:]:
            words.append("/".join(name(part) if "." not in part else part for part in str(argument).split("/")))
    return "\n".join(words)


def _without(
    best: Mapping[str, Result], removals: Mapping[str, Sequence[Removal]], ask: Ask
) -> dict[str, dict[Removal, Result]]:
    """By the name of a case, the removals after which it still differs, with what is left up to the difference."""
    asked = [(name, removal) for name, several in removals.items() for removal in several]
    if not asked:
        return {}
    cases = []
    for name, removal in asked:
        case = best[name].case
        cases.append(Case(name, case.layout, tuple(op for n, op in enumerate(case.ops) if n not in removal)))
    found: dict[str, dict[Removal, Result]] = {}
    for (name, removal), result in zip(asked, ask(cases), strict=True):
        if result.differences:
            found.setdefault(name, {})[removal] = to_its_end(result)
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
