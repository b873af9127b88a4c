"""The model as a target, playing a learnt kernel on the machine that was asked."""

from __future__ import annotations

from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup.machine.learnt import LearntKernel


class LearntTarget(ModelTarget):
    """The model of one layout of a learnt kernel; every case gets a fresh one."""

    def __init__(self, layout: str, learnt: LearntKernel) -> None:
        super().__init__(layout, learnt)
