"""One simulated process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..tasks.tid import Tid
from ..tasks.usage import NO_TIME, CpuTime

if TYPE_CHECKING:
    from .phase import Phase
    from .workload import Workload


@dataclass(eq=False, slots=True)
class Process:
    """A simulated process, its workload, and the phase that it is in (None: it waits for its start).

    `frozen` says that it is stopped from outside. `waits` is the share of the time in which it stalls for a resource
    other than the CPU, by resource, from 0 to 1: a resource sets its own in `resolve`. `tids` are its other
    threads; `refused` is the number of those that could not start. `before` is what it had used when it was taken over.
    """

    pid: Tid
    workload: Workload
    started: int  # ns
    number: int = -1  # of its phase
    loops: int = 0
    serial: int = 0  # of the phase's end in the queue
    frozen: bool = False
    tids: tuple[Tid, ...] = ()
    refused: int = 0
    before: CpuTime = NO_TIME
    oom_score_adj: int = field(init=False)
    least_oom_score_adj: int = field(init=False)  # what it may be set to without CAP_SYS_RESOURCE
    orphan: bool = True  # its parent is init, which waits for it at once when it has ended
    waits: dict[str, float] = field(default_factory=dict)
    shown: int = -1  # ns of CPU time that files were told of

    def __post_init__(self) -> None:
        self.oom_score_adj = self.least_oom_score_adj = self.workload.oom_score_adj

    def take_up(self, workload: Workload) -> None:
        """Live through a workload from its beginning."""
        self.workload, self.number, self.loops = workload, -1, 0
        self.__post_init__()

    @property
    def phase(self) -> Phase | None:
        return self.workload.phases[self.number] if self.number >= 0 else None

    @property
    def threads(self) -> int:
        """How many threads it has: as many as the workload says, but for those that a pids limit refused."""
        return self.workload.threads - self.refused

    @property
    def cpus(self) -> float:
        """CPUs that it would use now. One that stalls for another resource is not runnable meanwhile."""
        if self.number < 0 or self.frozen:
            return 0.0
        cpus = min(self.workload.phases[self.number].cpu, float(self.threads))
        return cpus * max(0.0, 1.0 - sum(self.waits.values())) if self.waits else cpus
