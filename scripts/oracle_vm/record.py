"""Makes recordings: has a kernel answer every case twice and keeps what both runs agree on."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path

from mount.conformance import recording
from mount.conformance.case import Answer, Case
from mount.conformance.cases import all_cases
from mount.conformance.normalise import Normaliser
from mount.conformance.recording import VARIES, RecordedCase, Recording

from . import machine
from .kernels import Kernel
from .machine import Answered


def record(kernel: Kernel, layout: str, families: Sequence[str], report: Callable[[str], None]) -> Path:
    """Write the recording of one kernel and layout.  ``families``: only these are asked again (empty: all); the other
    families are kept from the recording that is there.  Raises OracleError.
    """
    wanted = all_cases(layout)
    asked = {family: cases for family, cases in wanted.items() if not families or family in families}
    flat = [case for cases in asked.values() for case in cases]
    first = machine.ask(kernel, layout, flat, report)
    second = machine.ask(kernel, layout, flat, report)
    fresh: dict[str, RecordedCase] = {}
    for family, cases in asked.items():
        for case in cases:
            fresh[case.name] = _agreed(family, first[len(fresh)], second[len(fresh)], report)
    kept: dict[str, RecordedCase] = {}
    if families:
        kept = {one.case.name: one for one in recording.load(layout, kernel.series).cases}
    cases_now = [case for cases in wanted.values() for case in cases]
    recorded = tuple((fresh | {k: v for k, v in kept.items() if k not in fresh})[c.name] for c in cases_now
                     if c.name in fresh or c.name in kept)  # fmt: skip
    header = {
        "kernel": kernel.series,
        "package": kernel.package,
        "version": kernel.version,
        "layout": layout,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": machine.description(),
        "cases": len(recorded),
        "operations": sum(len(one.case.ops) for one in recorded),
        "digest": recording.digest(one.case for one in recorded),
    }
    return recording.save(Recording(layout, kernel.series, header, recorded))


def normalised(answered: Answered, raw: bool = False) -> list[Answer]:
    """The answers of one case in the form in which they are compared."""
    normalise = Normaliser(answered.raw.pids, raw)
    return [normalise(op, answer) for op, answer in zip(answered.case.ops, answered.raw.answers, strict=False)]


def _agreed(family: str, first: Answered, second: Answered, report: Callable[[str], None]) -> RecordedCase:
    case: Case = first.case
    answers = []
    for op, one, other in zip(case.ops, normalised(first), normalised(second), strict=False):
        if one != other:
            report(f"varies: {case.name}: {op}: {str(one)[:200]} / {str(other)[:200]}")
        answers.append(one if one == other else VARIES)
    verdict = first.verdict if first.verdict != "ok" else second.verdict
    if verdict != "ok":
        report(f"{verdict}: {case.name}")
    return RecordedCase(family, case, tuple(answers), verdict)
