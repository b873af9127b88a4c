"""Compares a booted kernel with the model in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.recording import PLAIN, RecordedCase
from fakecgroup.conformance.replay import Result, replay
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup_mount.vm.asking import ask
from fakecgroup_mount.vm.kernels import Kernel

Report = Callable[[str], None]


def compare(
    kernel: Kernel, layout: str, cases: Sequence[Case], report: Report, machine: str = PLAIN
) -> list[tuple[Result, str]]:
    """What the model answers differently from the kernel, by case, with the machine's verdict (see recording.py)."""
    target = ModelTarget(layout, kernel.series, machine)
    return [
        (replay(RecordedCase("random", one.case, tuple(one.answers()), one.verdict), target), one.verdict)
        for one in ask(kernel.image, layout, cases, report, machine)
    ]
