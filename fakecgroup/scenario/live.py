"""Scenarios that go on as real time passes, in a kernel that real programs use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from ..kernel import Kernel
from ..tasks.joined_processes import JoinedProcesses
from .pace import Pace
from .read import ScenarioError
from .scenario import At, Placed, Scenario
from .stage import Stage

_OFTEN, _SELDOM = 1_000_000, 50_000_000  # ns of real time between two looks at the clock, at least and at most
_SPARING = 4  # times the duration of a look until the next one
_BUDGET = 50_000_000  # ns of real time in which one call of `catch_up` ends
_LONG = 10_000_000  # ns of real time that one step takes at most, as far as one can tell
_RARELY = 0.01  # seconds between two events that somebody is woken for, at least


@dataclass(slots=True)
class Running:
    """A workload in the tree: its name, where it was started, the pids of its processes, and whether it is paused."""

    name: str
    placed: Placed
    pids: list[int]
    paused: bool = False


class LiveScenarios:
    """The simulated part of a tree. `clock` gives real ns; `speed` is virtual seconds per real second.

    If virtual time takes too long to compute, it goes slower than asked for. With speed 0 it passes in `advance` alone.
    `on_refused` gets a line for each write of
    `at:` that the kernel refuses.
    """

    def __init__(
        self,
        kernel: Kernel,
        processes: JoinedProcesses,
        clock: Callable[[], int],
        speed: float = 1.0,
        on_refused: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._kernel = kernel
        self._processes = processes
        self._clock = clock
        self._stage = Stage(kernel)
        self._on_refused = on_refused
        self._speed = speed
        self._pace: Pace | None = None  # None: no time passes yet
        self._looked = 0
        self._often = _OFTEN
        self._step = 1_000_000  # ns of virtual time that one step takes at most
        self._due: list[tuple[int, int, At]] = []
        self._order = count()
        self._running: dict[str, Running] = {}
        self.time = 0
        """ns of virtual time since the first scenario began."""

    @property
    def begun(self) -> bool:
        """True once a scenario was added."""
        return self._pace is not None

    def add(self, scenario: Scenario) -> list[str]:
        """Begin a scenario now: make its cgroups, start its workloads. Returns the names of these.

        A workload without a name, or with one that is taken, is named after its cgroup, with a number if need be.
        `expect`, `machine` and `seed` are left out. Raises ScenarioError for what the kernel refuses; then no process
        is left of it.
        """
        self._begin()
        for setup in scenario.cgroups:
            self._stage.make(setup)
        added: list[str] = []
        try:
            for placed in scenario.workloads:
                name = self._free_name(placed)
                self._running[name] = Running(name, placed, self._stage.spawn(placed))
                added.append(name)
        except ScenarioError:
            for name in added:
                self.remove(name)
            raise
        for at in scenario.at:
            heappush(self._due, (self.time + at.time, next(self._order), at))
        self._advance(0)
        return added

    def spawn(self, placed: Placed) -> list[int]:
        """Start a workload now; returns the pids of its processes. Raises what `Kernel.spawn` does."""
        self._begin()
        pids = self._kernel.spawn([f"/{path}" for path in placed.cgroups], placed.workload)
        name = self._free_name(placed)
        self._running[name] = Running(name, placed, pids)
        self._advance(0)
        return pids

    def begin(self) -> None:
        """Let time pass from now on for the processes that are in the kernel already."""
        self._begin()
        for workload in self._kernel.workloads():
            pids = self._kernel.processes_of(workload)
            if pids:
                placed = Placed(self._kernel.paths_of(pids[0]), workload, "")
                self._running[self._free_name(placed)] = Running(self._free_name(placed), placed, pids)

    def _begin(self) -> Pace:
        """Let time pass from now on, if it does not yet; it has passed until now when this returns."""
        if self._pace is None:
            self._kernel.advance_ns(0)
            self._pace = Pace(self._speed, self._clock())
        self.catch_up()
        return self._pace

    def _free_name(self, placed: Placed) -> str:
        wanted = placed.workload.name or placed.cgroups[0].rpartition("/")[2]
        names = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
        return next(name for name in names if name not in self._running)

    # -- workloads ----------------------------------------------------------------------------------

    def running(self) -> Iterator[Running]:
        """The workloads, in the order in which they were added, each with the processes that are left."""
        for one in self._running.values():
            one.pids = self._kernel.processes_of(one.placed.workload)
            yield one

    def remove(self, name: str) -> None:
        """End the processes of a workload, as if they had exited. Raises KeyError."""
        self._kernel.end(self._running.pop(name).placed.workload)
        self._advance(0)

    def pause(self, name: str, paused: bool) -> None:
        """Stop or continue the processes of a workload, as SIGSTOP and SIGCONT do. Raises KeyError."""
        one = self._running[name]
        one.paused = paused
        for pid in self._kernel.processes_of(one.placed.workload):
            self._processes.simulated.stop(pid, paused)
        self._advance(0)

    # -- time ---------------------------------------------------------------------------------------

    def catch_up(self, *, at_once: bool = False) -> None:
        """Let the virtual time pass that is due, and the writes of `at:` happen.

        Unless `at_once`, nothing is done if the last call was just now and no process was killed, stopped or continued.
        """
        if self._pace is None:
            return
        now = self._clock()
        if now - self._looked < self._often and not (self._processes.stirred or at_once):
            return
        self._looked = now
        due = self._pace.due(now)
        while self.time < due:
            begun = self._clock()
            if begun - now > _BUDGET:
                self._pace.go_on(begun, self.time)  # what else is due will never happen
                break
            self._advance(min(due - self.time, self._step))
            took = self._clock() - begun
            if took < _LONG // 2:
                self._step *= 2
            elif took > _LONG:
                self._step = max(1_000_000, self._step // 2)
        if self._processes.stirred or at_once:
            self._advance(0)
        self._often = min(_SELDOM, max(_OFTEN, _SPARING * (self._clock() - now)))

    def advance(self, time: int) -> None:
        """Let ns of virtual time pass now, however long that takes to compute."""
        pace = self._begin()
        self._advance(time)
        pace.go_on(self._clock(), self.time)

    def _advance(self, time: int) -> None:
        until = self.time + time
        while True:
            stop = min(until, self._due[0][0]) if self._due else until
            self._processes.stirred = False
            self._kernel.advance_ns(max(0, stop - self.time))
            self.time = max(self.time, stop)
            while self._due and self._due[0][0] <= self.time:
                self._write(heappop(self._due)[2])
            if self.time >= until and not self._processes.stirred:
                return

    def _write(self, at: At) -> None:
        for write in at.writes:
            try:
                self._stage.write(write)
            except ScenarioError as error:
                self._on_refused(str(error))

    def next_call(self) -> float | None:
        """Real seconds until `catch_up` is to be called so that nobody hears too late of an event; None for never."""
        if self._pace is None:
            return None
        event = self._kernel.next_event()
        times = ([self._due[0][0]] if self._due else []) + ([] if event is None else [self.time + event])
        if not times:
            return None
        left = self._pace.until(self._clock(), min(times))
        return None if left is None else max(_RARELY, left)
