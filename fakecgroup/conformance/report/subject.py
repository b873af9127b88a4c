"""What a report is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fakecgroup.conformance import known_gaps
from fakecgroup.machine.learnt import LearntKernel


@dataclass(frozen=True)
class Subject:
    """The layout and the kernel whose answers were compared, and the target as it was named.

    ``learnt`` is the kernel if it is a learnt one.
    """

    layout: str
    kernel: str
    target: str
    learnt: LearntKernel | None = None

    @cached_property
    def gaps(self) -> Mapping[str, str]:
        """The reasons of the target's known gaps, by case."""
        return known_gaps.of(self.target, self.layout, self.learnt)
