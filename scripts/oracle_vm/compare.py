"""Compares a booted kernel with the model in this process, and with its own recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.recording import PLAIN, VARIES, RecordedCase, Recording
from fakecgroup.conformance.replay import Difference, Result, replay, same
from fakecgroup.conformance.tally import Tally
from fakecgroup.conformance.target_model import ModelTarget
from vm.kernels import Kernel

from .machine import ask
from .record import normalised

Report = Callable[[str], None]


def compare(
    kernel: Kernel, layout: str, cases: Sequence[Case], report: Report, machine: str = PLAIN
) -> list[tuple[Result, str]]:
    """What the model answers differently from the kernel, by case, with the machine's verdict (see recording.py)."""
    target = ModelTarget(layout, kernel.series, machine)
    return [
        (replay(RecordedCase("random", one.case, tuple(normalised(one)), one.verdict), target), one.verdict)
        for one in ask(kernel, layout, cases, report, machine)
    ]


def verify(kernel: Kernel, recording: Recording, families: Sequence[str], report: Report) -> list[Tally]:
    """Asks the kernel the recorded cases of some families, or of all, again: a tally for each family."""
    recorded = [one for one in recording.cases if not families or one.family in families]
    tallies: dict[str, Tally] = {}
    for one, answered in zip(
        recorded,
        ask(kernel, recording.layout, [one.case for one in recorded], report, recording.machine),
        strict=True,
    ):
        differences = []
        compared = 0
        for index, (expected, got) in enumerate(zip(one.answers, normalised(answered), strict=False)):
            if expected == VARIES:
                continue
            compared += 1
            if not same(expected, got):
                differences.append(Difference(one.case, index, expected, got))
        result = Result(one.case, compared, len(one.case.ops) - compared, tuple(differences))
        tallies.setdefault(one.family, Tally(one.family, recording.machine)).add(result)
    return list(tallies.values())
