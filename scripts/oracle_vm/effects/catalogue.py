"""The scenarios that are played in kernels: those in `scenarios/`, and random trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fakecgroup.scenario import Scenario, read_scenario
from fakecgroup.simulation.words import parse_memory

from .listeners import Listener, split
from .machine import Shape
from .trees import trees

_DIRECTORY = Path(__file__).with_name("scenarios")
_SEED = 1
#: Random trees by the number of CPUs.
_TREES = {1: 60, 2: 12}
#: Runs of a random tree by the number of CPUs, and of another scenario. On one CPU they hardly differ.
_TREE_RUNS = {1: 2, 2: 10}
_RUNS = 5
_PARALLEL_RUNS = 10
#: ns that an instruction takes, by the first words of a name. What is measured in slices and ticks may be played on a
#: slow machine, and what waits for a disk. Otherwise the machine does about as much in a slice as a real one.
_SLOW, _FAST = 8, 1
_INSTRUCTIONS: dict[str, int | None] = {
    **dict.fromkeys(("v1-quota", "v1-shares"), _SLOW),
    **dict.fromkeys(("cache-", "high-", "hugetlb-", "memory-", "oom-", "pids-", "swap-", "v1-"), _FAST),
    # what else the CPUs do in the meantime matters: they run beside each other, in the host's time
    **dict.fromkeys(("tree-2-", "victims-"), None),
}


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
    def shape(self) -> Shape:
        """The machine in which it is played."""
        ways = (way for begin, way in _INSTRUCTIONS.items() if self.name.startswith(begin))
        machine = self.scenario.machine
        swap, huge_pages = machine.get("swap"), machine.get("hugepages", "2Mi=0")
        return Shape(
            self.cpus,
            next(ways, _SLOW),
            machine.get("layout", "v2"),
            parse_memory(swap) if swap else 0,
            int(huge_pages.removeprefix("2Mi=")),
        )

    @property
    def scenario(self) -> Scenario:
        return read_scenario(split(self.text)[0], self.name)

    @property
    def listeners(self) -> list[Listener]:
        return split(self.text)[1]

    @property
    def cpus(self) -> int:
        return int(self.scenario.machine["cpus"])


def catalogue() -> Iterator[Entry]:
    """All scenarios, those for a machine of one CPU first."""
    entries = [_entry(file) for file in sorted(_DIRECTORY.glob("*.yaml"))]
    for cpus, count in _TREES.items():
        yield from (entry for entry in entries if entry.cpus == cpus)
        yield from (Entry(name, text, _TREE_RUNS[cpus]) for name, text in trees(cpus, count, _SEED))


def _entry(file: Path) -> Entry:
    entry = Entry(file.stem, file.read_text(), _RUNS)
    return entry if entry.shape.instruction else replace(entry, runs=_PARALLEL_RUNS)
