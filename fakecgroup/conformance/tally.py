"""Counts what became of recorded cases on a target, by family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .recording import PLAIN, RecordedCase, Recording
from .replay import Difference, Result, replay
from .shard import Shard
from .target import Target


@dataclass
class Tally:
    """What became of one family's cases of one machine; operations that were `left_out` have a reason."""

    family: str
    machine: str = PLAIN
    cases: int = 0
    compared: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The family, and what the machine has more."""
        return self.family if self.machine == PLAIN else f"{self.family} with {self.machine}"

    @property
    def skipped(self) -> int:
        """The number of operations that were left out."""
        return self.left_out.total()

    def add(self, result: Result) -> None:
        """Counts one more case."""
        self.cases += 1
        self.compared += result.compared
        self.left_out.update(result.left_out)
        self.differences += result.differences
        self.results.append(result)


def compare(
    target: Target, machine: str, cases: Sequence[RecordedCase], progress: Callable[[int, int], None]
) -> list[Tally]:
    """Recorded cases of a machine on a target, by family. ``progress`` gets the number of each case and of all."""
    tallies: dict[str, Tally] = {}
    for number, case in enumerate(cases, start=1):
        progress(number, len(cases))
        tallies.setdefault(case.family, Tally(case.family, machine)).add(replay(case, target))
    return list(tallies.values())


def chosen(recorded: Recording, families: Sequence[str] = (), shard: Shard | None = None) -> list[RecordedCase]:
    """The cases of these families, or all; of these a shard's."""
    cases = [case for case in recorded.cases if not families or case.family in families]
    return shard.of(cases) if shard else cases
