"""A booted kernel as a target.

It is asked all cases at once, in the guest, and not operation by operation as other targets are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fakecgroup.conformance.case import Answer
from fakecgroup.conformance.changes import changes_of
from fakecgroup.conformance.recording import VARIES, RecordedCase, Recording
from fakecgroup.conformance.replay import Difference, Result, same
from fakecgroup.conformance.tally import Tally
from fakecgroup_mount.vm.asking import AnsweredCase, ask
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.machine import BLOCK_DEVICES
from fakecgroup_mount.vm.survey import Survey, read_survey, survey_case

Report = Callable[[str], None]

#: Cases that show the same change of a file, at least, where it is not asked once more.
_MANY = 3
_ENDS = ("HANG", "LOST")
_NO_DRIVER = "the kernel has no driver for the machine's disks"
_NOT_COMPARED = "one of the kernels does not answer, or not twice the same"


@dataclass(frozen=True)
class Verified:
    """A tally for each family. ``survey``: of the kernel that was asked. ``unsteady``: names of cases that were
    answered otherwise and then not again, so the kernel does not answer them twice; they count as no difference.
    """

    tallies: list[Tally]
    survey: Survey
    unsteady: list[str]


def verify(image: Image, recorded: Recording, cases: Sequence[RecordedCase], report: Report) -> Verified:
    """Asks a kernel some cases of a recording, and once more those that differ as few others do.

    Cases about disks are left out where the kernel has no driver for the machine's. Raises MachineError where it does
    not come up, or does not have the layout.
    """
    layout, machine = recorded.layout, recorded.machine
    about, *answered = ask(image, layout, [survey_case(layout), *(one.case for one in cases)], report, machine)
    survey = read_survey(about)
    if not survey.has_layout(layout):
        raise MachineError(f"{image.name} has no {layout} cgroups: their file systems are not in its configuration")
    without_disks = not survey.block_devices >= set(BLOCK_DEVICES)
    results = [
        left_out(one) if without_disks and names_disks(one) else compared(one, now)
        for one, now in zip(cases, answered, strict=True)
    ]
    if without_disks and any(map(names_disks, cases)):
        number = sum(map(names_disks, cases))
        report(f"{image.name} has no NVMe driver: {number} cases about disks are not compared")
    unsteady = _ask_again(image, recorded, cases, results, report)
    tallies: dict[str, Tally] = {}
    for one, result in zip(cases, results, strict=True):
        tallies.setdefault(one.family, Tally(one.family, machine)).add(result)
    return Verified(list(tallies.values()), survey, unsteady)


def _ask_again(
    image: Image, recorded: Recording, cases: Sequence[RecordedCase], results: list[Result], report: Report
) -> list[str]:
    """Asks once more what differs and is not plain; what does not differ again is no difference. Returns the names of
    such cases.
    """
    differing = _not_plain(results)
    if not differing:
        return []
    report(f"{sum(bool(one.differences) for one in results)} cases differ; {len(differing)} are asked once more")
    again = ask(image, recorded.layout, [cases[number].case for number in differing], report, recorded.machine)
    unsteady = []
    for number, now in zip(differing, again, strict=True):
        first, second = results[number], compared(cases[number], now)
        kept = tuple(one for one in first.differences if one in second.differences)
        results[number] = Result(first.case, first.compared, first.left_out, kept)
        if not kept:
            unsteady.append(first.case.name)
    return unsteady


def _not_plain(results: Sequence[Result]) -> list[int]:
    """The numbers of cases that differ in a way that few others do. A difference that many show is no accident."""
    changed = [{change for one in result.differences for change in changes_of(one)} for result in results]
    shown = Counter(change for each in changed for change in each)
    return [
        number
        for number, (result, each) in enumerate(zip(results, changed, strict=True))
        if any(shown[change] < _MANY for change in each) or any(one.got[0] in _ENDS for one in result.differences)
    ]


def names_disks(one: RecordedCase) -> bool:
    """Whether a case or an answer names one of the machine's disks."""
    text = json.dumps([one.case.ops, one.answers])
    return any(device in text for device in BLOCK_DEVICES)


def left_out(one: RecordedCase) -> Result:
    return Result(one.case, 0, {_NO_DRIVER: len(one.case.ops)}, ())


def compared(recorded: RecordedCase, now: AnsweredCase) -> Result:
    """The result of one case. The operation at which it stopped the machine, or lost who asked, is answered "HANG" or
    "LOST".
    """
    differences = []
    compared = 0
    expected_answers, answers = _with_end(recorded.answers, recorded.verdict), _with_end(now.answers(), now.verdict)
    for index, (expected, got) in enumerate(zip(expected_answers, answers, strict=False)):
        if index == len(recorded.case.ops):
            break
        if expected == VARIES:
            continue
        compared += 1
        if not same(expected, got):
            differences.append(Difference(recorded.case, index, expected, got))
    left_out = {_NOT_COMPARED: len(recorded.case.ops) - compared} if compared < len(recorded.case.ops) else {}
    return Result(recorded.case, compared, left_out, tuple(differences))


def _with_end(answers: Sequence[Answer], verdict: str) -> list[Answer]:
    return [*answers, (verdict.upper(), None)] if verdict != "ok" else list(answers)
