"""Asks booted kernels the cases of findings, and keeps their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fakecgroup_mount.vm.asking import ask
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel

from .finding import KERNELS, Answers, Finding, write_answers


def record(findings: Sequence[Finding], kernel: Callable[[str], Kernel], report: Callable[[str], None]) -> list[Path]:
    """Ask each kernel of each finding, and write the files. Raises MachineError where a kernel could not answer."""
    answered: dict[str, list[Answers]] = {one.name: [] for one in findings}
    for series in KERNELS:
        booted = kernel(series)
        cases = [(one, case) for one in findings for case in one.cases if series in one.asked(case)]
        for layout in dict.fromkeys(case.layout for _, case in cases):
            part = [(one, case) for one, case in cases if case.layout == layout]
            for (one, case), asked in zip(
                part, ask(booted.image, layout, [case for _, case in part], report), strict=True
            ):
                if asked.verdict != "ok":
                    raise MachineError(f"{one.name}: {case.name}: {asked.verdict} on {series}")
                answered[one.name].append(Answers(series, booted.version, case, tuple(asked.answers())))
    return [write_answers(one, answered[one.name]) for one in findings]
