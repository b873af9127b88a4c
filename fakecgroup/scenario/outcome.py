"""What happened in a played scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .scenario import Expectation

SECOND = 1_000_000_000  # ns


@dataclass(frozen=True, slots=True)
class Sample:
    """What a cgroup had used by a `time` (ns since the start): CPU time in µs, periods, throttling; what it holds.

    `memory` is in bytes, and None without the memory controller. `pressure` has `some` of cpu, memory and io: the
    average over 10 s in percent, and the total in µs; v1 has none. `killed` counts processes killed there and below.
    """

    time: int
    cgroup: str
    usage: int
    nr_periods: int
    nr_throttled: int
    throttled: int
    memory: int | None
    pressure: Mapping[str, tuple[float, int]]
    killed: int = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at a `time` (ns since the start): a `write`, a `kill`, or an eviction (`evict`)."""

    time: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Checked:
    """An expectation, what was `seen`, and whether that is what was expected."""

    expectation: Expectation
    seen: str
    holds: bool


@dataclass(slots=True)
class Outcome:
    """What happened until `time` (ns since the start)."""

    time: int = 0
    samples: list[Sample] = field(default_factory=list)
    checked: list[Checked] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if all expectations hold."""
        return all(one.holds for one in self.checked)
