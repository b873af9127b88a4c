"""One case with what each recorded kernel answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import LAYOUTS, Answer, Case
from fakecgroup.conformance.cases import all_cases
from fakecgroup.conformance.explain.kernel_functions import KernelFunction, functions_of
from fakecgroup.conformance.learnt_answers import answers_of
from fakecgroup.conformance.recording import PLAIN, RecordedCase
from fakecgroup.conformance.replay import same
from fakecgroup.conformance.titles import title
from fakecgroup.machine.learnt import LearntKernel

_NOT_REACHED: Answer = ("-", None)
_MANY = 12  # names that are told where a text is in more than one
_LONG = 100  # characters of a text that is told


class NoCaseError(Exception):
    """No case has this name; the text says which are like it."""


@dataclass(frozen=True)
class Explanation:
    """A case of one layout. ``answers``: by kernel, learnt ones by their files' names, one for each operation."""

    family: str
    case: Case
    machine: str
    answers: Mapping[str, tuple[Answer, ...]]
    functions: tuple[KernelFunction, ...]

    def differs(self, index: int) -> bool:
        """Whether two kernels answer this operation in two ways."""
        first, *others = (answers[index] for answers in self.answers.values())
        return not all(same(first, other) for other in others)


def case_named(text: str) -> str:
    """The case whose name or title this is, or the only one that has the text in one of them. Raises NoCaseError."""
    names = list(dict.fromkeys(_names()))
    if text in names:
        return text
    titled = [name for name in names if title(name) == text]
    found = titled or [name for name in names if text.casefold() in f"{name}\n{title(name)}".casefold()]
    if len(found) == 1:
        return found[0]
    text = text if len(text) <= _LONG else f"{text[:_LONG]}..."
    if not found:
        raise NoCaseError(f"no case has {text!r} in its name")
    more = f" and {len(found) - _MANY} more" if len(found) > _MANY else ""
    raise NoCaseError(f"{len(found)} cases have {text!r} in their names: {'; '.join(found[:_MANY])}{more}")


def _names() -> Iterator[str]:
    for layout in LAYOUTS:
        for machine in recording.MACHINES:
            for cases in all_cases(layout, machine).values():
                yield from (case.name for case in cases)


def explanations(
    name: str, layouts: Sequence[str] = LAYOUTS, machine: str = PLAIN, learnt: Sequence[LearntKernel] = ()
) -> list[Explanation]:
    """The case on each layout that has it, with the answers of learnt kernels too.

    Raises RecordingError, LearntError.
    """
    found = []
    for layout in layouts:
        recorded = {
            kernel: one
            for of, kernel in recording.available(machine)
            if of == layout and (one := recording.find(layout, kernel, name, machine)) is not None
        }
        if machine == PLAIN:
            recorded |= {str(one): case for one in learnt for case in _of_learnt(one, layout, name)}
        cases = {one.case.digest: one.case for one in recorded.values()}  # one, unless a kernel was not asked again
        for case in cases.values():
            same_case = {kernel: one for kernel, one in recorded.items() if one.case == case}
            family = next(iter(same_case.values())).family
            answers = {kernel: _whole(one) for kernel, one in same_case.items()}
            kernels = [next((one for one in learnt if str(one) == kernel), kernel) for kernel in answers]
            found.append(Explanation(family, case, machine, answers, functions_of(case, kernels)))
    return found


def _of_learnt(learnt: LearntKernel, layout: str, name: str) -> Iterator[RecordedCase]:
    """What a learnt kernel answered to a case, if it was asked."""
    if layout in learnt.layouts:
        yield from (one for one in answers_of(learnt, layout).cases if one.case.name == name)


def _whole(recorded: RecordedCase) -> tuple[Answer, ...]:
    """The answers, with the verdict where they end before the operations do."""
    missing = len(recorded.case.ops) - len(recorded.answers)
    end = [(recorded.verdict.upper(), None), *[_NOT_REACHED] * (missing - 1)] if missing else []
    return (*recorded.answers, *end)
