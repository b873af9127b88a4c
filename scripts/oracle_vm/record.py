"""Makes recordings: has a kernel answer every case twice and keeps what both runs agree on."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases import all_cases
from fakecgroup.conformance.recording import VARIES, RecordedCase, Recording
from fakecgroup_mount.vm.asking import AnsweredCase, ask
from fakecgroup_mount.vm.kernels import Kernel
from fakecgroup_mount.vm.machine import description


def record(kernel: Kernel, layout: str, machine: str, changed: bool, report: Callable[[str], None]) -> Path:
    """Write the recording of one kernel, layout and machine.  ``changed``: ask only cases that are new or have changed,
    if the recording that is there is of this very kernel.  Raises MachineError.
    """
    wanted = [(family, case) for family, cases in all_cases(layout, machine).items() for case in cases]
    kept = _kept(kernel, layout, machine) if changed else {}
    asked = [(family, case) for family, case in wanted if case.digest not in kept]
    cases = [case for _, case in asked]
    first = ask(kernel.image, layout, cases, report, machine)
    second = ask(kernel.image, layout, cases, report, machine)
    for (family, case), one, other in zip(asked, first, second, strict=True):
        kept[case.digest] = _agreed(family, one, other, report)
    recorded = tuple(replace(kept[case.digest], family=family) for family, case in wanted)
    header = {
        "kernel": kernel.series,
        "package": kernel.package,
        "version": kernel.version,
        "layout": layout,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": description(machine),
        "cases": len(recorded),
        "operations": sum(len(one.case.ops) for one in recorded),
        "digest": recording.digest(one.case for one in recorded),
    }
    return recording.save(Recording(layout, kernel.series, header, recorded, machine))


def _kept(kernel: Kernel, layout: str, machine: str) -> dict[str, RecordedCase]:
    """What is recorded of this kernel, by the digest of the case."""
    try:
        before = recording.load(layout, kernel.series, machine)
    except recording.RecordingError:
        return {}
    if before.header["version"] != kernel.version or before.header["machine"] != description(machine):
        return {}
    return {one.case.digest: one for one in before.cases}


def _agreed(family: str, first: AnsweredCase, second: AnsweredCase, report: Callable[[str], None]) -> RecordedCase:
    case: Case = first.case
    answers = []
    for op, one, other in zip(case.ops, first.answers(), second.answers(), strict=False):
        if one != other:
            report(f"varies: {case.name}: {op}: {str(one)[:200]} / {str(other)[:200]}")
        answers.append(one if one == other else VARIES)
    verdict = first.verdict if first.verdict != "ok" else second.verdict
    if verdict != "ok":
        report(f"{verdict}: {case.name}")
    return RecordedCase(family, case, tuple(answers), verdict)
