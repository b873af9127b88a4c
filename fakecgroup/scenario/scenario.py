"""What a scenario says, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..simulation.workload import Workload


@dataclass(frozen=True, slots=True)
class Write:
    """A text for a file of a cgroup. `place` is where the scenario says so."""

    path: str
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class CgroupSetup:
    """A cgroup to make, and what to write there."""

    path: str
    writes: tuple[Write, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A workload and the cgroups that it starts in: one on v2, one of each hierarchy that matters on v1."""

    cgroups: tuple[str, ...]
    workload: Workload
    place: str


@dataclass(frozen=True, slots=True)
class At:
    """Writes at a `time` (ns since the start)."""

    time: int
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a file is to say at a `time` (ns since the start): the whole line `has`, or a number `between` two.

    `key` names the number: `nr_periods`, or `some.total` of nested keys; None for a file that is one number. Without a
    file, `killed` is how many simulated processes are to be killed by then, in `cgroup` and below if that is given.
    """

    time: int
    file: str | None
    key: str | None
    has: str | None
    between: tuple[float, float] | None
    place: str
    killed: int | None = None
    cgroup: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario. `machine` has the options of a `Kernel` as text. `seed` decides what is random."""

    machine: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    cgroups: tuple[CgroupSetup, ...] = ()
    workloads: tuple[Placed, ...] = ()
    at: tuple[At, ...] = ()
    expect: tuple[Expectation, ...] = ()

    @property
    def ends(self) -> int | None:
        """ns of the last write or expectation; None if there is neither."""
        return max([one.time for one in self.at] + [one.time for one in self.expect], default=None)

    @property
    def endless(self) -> bool:
        """True if a workload repeats for ever."""
        return any(one.workload.loop is None for one in self.workloads)
