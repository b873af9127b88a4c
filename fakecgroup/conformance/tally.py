"""Counts what became of recorded cases on a target, by family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .recording import PLAIN, RecordedCase, Recording
from .replay import Difference, Result, replay
from .target import Target


@dataclass
class Tally:
    """What became of one family's cases of one machine; operations that the target cannot do are not `compared`."""

    family: str
    machine: str = PLAIN
    cases: int = 0
    compared: int = 0
    skipped: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The family, and what the machine has more."""
        return self.family if self.machine == PLAIN else f"{self.family} with {self.machine}"

    def add(self, result: Result) -> None:
        """Counts one more case."""
        self.cases += 1
        self.compared += result.compared
        self.skipped += result.skipped
        self.differences += result.differences


def compare(
    target: Target, recorded: Recording, families: Sequence[str] | None, progress: Callable[[int, int], None]
) -> list[Tally]:
    """Every recorded case of some families, or of all, on a target, by family."""
    cases = of_families(recorded, families)
    tallies: dict[str, Tally] = {}
    for number, case in enumerate(cases, start=1):
        progress(number, len(cases))
        tally = tallies.setdefault(case.family, Tally(case.family, recorded.machine))
        tally.add(replay(case, target))
    return list(tallies.values())


def of_families(recorded: Recording, families: Sequence[str] | None) -> list[RecordedCase]:
    """The cases of these families, or all."""
    return [case for case in recorded.cases if not families or case.family in families]
