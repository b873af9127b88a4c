"""Asks a booted kernel all cases, for `fakecgroup learn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fakecgroup.conformance.ask_again import settled
from fakecgroup.conformance.cases import all_cases
from fakecgroup.conformance.nearest import ranked, recordings
from fakecgroup.conformance.recording import PLAIN, RecordedCase, Recording
from fakecgroup.conformance.replay import same
from fakecgroup.conformance.seen_files import observed_options
from fakecgroup_mount.conformance.asked_kernel import AskedKernel, options_of
from fakecgroup_mount.conformance.target_vm import names_disks
from fakecgroup_mount.vm.asking import ask
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image, read_image
from fakecgroup_mount.vm.machine import BLOCK_DEVICES, description
from fakecgroup_mount.vm.survey import Survey, read_survey, survey_case

Report = Callable[[str], None]


def ask_vm(image: str, initrd: str | None, layouts: Sequence[str], report: Report) -> AskedKernel:
    """Boots an image and asks it all cases of these layouts. Layouts that it does not have are left out.

    Its configuration is read from /proc/config.gz, or else from config-RELEASE or config beside the image. Raises
    MachineError.
    """
    booted = read_image(Path(image), Path(initrd) if initrd is not None else None)
    found = []
    survey = None
    for layout in layouts:
        asked = _ask_layout(booted, layout, report)
        if asked is not None:
            survey, recorded = asked
            found.append(recorded)
    if survey is None:
        raise MachineError(f"{image} has no cgroups of layout {', '.join(layouts)}: nothing can be learnt of it")
    beside = [booted.file.with_name(name) for name in (f"config-{survey.release}", "config", ".config")]
    options = observed_options(survey.configuration) if survey.configuration else options_of(beside)
    return AskedKernel(survey.release, options, description(PLAIN, booted.architecture), found)


def _ask_layout(image: Image, layout: str, report: Report) -> tuple[Survey, Recording] | None:
    """What a kernel answers to all cases of a layout. None if it does not have the layout."""
    wanted = [(family, case) for family, cases in all_cases(layout).items() for case in cases]
    report(f"{layout}: {len(wanted)} cases")
    about, *answered = ask(image, layout, [survey_case(layout), *(case for _, case in wanted)], report)
    survey = read_survey(about)
    if not survey.has_layout(layout):
        report(f"{image.name} has no {layout} cgroups")
        return None
    cases = [
        RecordedCase(family, case, tuple(one.answers()), one.verdict)
        for (family, case), one in zip(wanted, answered, strict=True)
    ]
    if not survey.block_devices >= set(BLOCK_DEVICES):
        cases = [one for one in cases if not names_disks(one)]
        report(f"{image.name} has no NVMe driver: {len(wanted) - len(cases)} cases about disks are left out")
    return survey, _asked_twice(image, Recording(layout, survey.release, {}, tuple(cases)), report)


def _asked_twice(image: Image, first: Recording, report: Report) -> Recording:
    """Asks once more where the answers are not those of the nearest known kernel."""
    known = {one.kernel: one for one in recordings(first.layout)}
    base = known[ranked(first, known.values())[0].kernel]
    theirs = {one.case.digest: one for one in base.cases}
    doubtful = [number for number, one in enumerate(first.cases) if not _alike(one, theirs.get(one.case.digest))]
    if not doubtful:
        return first
    report(f"{first.layout}: {len(doubtful)} cases are not answered as by {base.kernel}, and are asked once more")
    cases = list(first.cases)
    again = ask(image, first.layout, [cases[number].case for number in doubtful], report)
    for number, now in zip(doubtful, again, strict=True):
        one = cases[number]
        answers = tuple(settled(one.answers, now.answers()))
        verdict = one.verdict if one.verdict != "ok" else now.verdict
        cases[number] = replace(one, answers=answers, verdict=verdict)
    return replace(first, cases=tuple(cases))


def _alike(one: RecordedCase, other: RecordedCase | None) -> bool:
    if other is None or one.verdict != other.verdict or len(one.answers) != len(other.answers):
        return False
    return all(map(same, other.answers, one.answers))
