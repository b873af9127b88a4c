"""The scenarios that are played in kernels: those in `scenarios/`, and random trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fakecgroup.scenario import Scenario, read_scenario

from .trees import trees

_DIRECTORY = Path(__file__).with_name("scenarios")
_SEED = 1
#: Random trees by the number of CPUs.
_TREES = {1: 60, 2: 12}
#: Runs of a random tree by the number of CPUs, and of another scenario. On one CPU they hardly differ.
_TREE_RUNS = {1: 2, 2: 10}
_RUNS = 5


@dataclass(frozen=True)
class Entry:
    """A scenario: its `family` (the first word of the name), its text, and how often it is played."""

    name: str
    text: str
    runs: int

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]

    @property
    def scenario(self) -> Scenario:
        return read_scenario(self.text, self.name)

    @property
    def cpus(self) -> int:
        return int(self.scenario.machine["cpus"])


def catalogue() -> Iterator[Entry]:
    """All scenarios, those for a machine of one CPU first."""
    entries = [Entry(file.stem, file.read_text(), _RUNS) for file in sorted(_DIRECTORY.glob("*.yaml"))]
    for cpus, count in _TREES.items():
        yield from (entry for entry in entries if entry.cpus == cpus)
        yield from (Entry(name, text, _TREE_RUNS[cpus]) for name, text in trees(cpus, count, _SEED))
