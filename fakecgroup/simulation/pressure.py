"""Counts in each cgroup of the unified hierarchy how long simulated processes stalled (kernel/sched/psi.c)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..effects.bandwidth import CPU
from ..effects.pressure_averages import interval
from ..effects.stalls import Stalls
from .cpu_pressure import piece, stalled
from .waiting import stalled_of

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from .cpu_demand import Demand
    from .process import Process
    from .world import World

_HZ = 250
_WHOLE = 1_000_000_000  # rates are in billionths, as whole numbers, so that sums are exact
_ENOUGH = 100_000  # changes after which they are worked off

_Wait = tuple[int, int, int]  # the time, by how much waiting rates change then, and these weighted (`stalled_of`)
# the time, and by how much these change then: active, waiting and used rates, and shares of time in which tasks wait
_Change = tuple[int, int, int, int, int]


class _Log:
    """What has changed in a cgroup, in no order: on the CPU, and who waits for another resource."""

    __slots__ = ("allowed", "cgroup", "changes", "stalls", "waits")

    def __init__(self, cgroup: Cgroup) -> None:
        self.cgroup = cgroup
        self.changes: list[_Change] = []
        self.allowed = 0  # the CPUs of all that told
        self.stalls = False  # somebody waits for the CPU
        self.waits: dict[str, list[_Wait]] = {}


class Pressure:
    """Adds up stalls, of all resources, in a process's cgroup and those above it.

    Processes tell of pieces of time (`add`) in which they wanted and were given the same, in any order. `settle` works
    them off.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._cpus = world.machine.cpus
        self._logs: dict[Cgroup, _Log] = {}
        self._lineages: dict[Process, list[_Log]] = {}
        self._pieces = 0

    def gather(self, processes: Iterable[Process]) -> None:
        """Take where the processes are now. What was told before has been of where they were."""
        self._lineages = {}
        unified = self._world.hierarchies[-1]
        if not unified.dfl:
            return
        lineages: dict[Cgroup, list[_Log]] = {}
        for process in processes:
            cgroup = unified.cgroup_of(process.pid)
            if cgroup not in lineages:
                lineages[cgroup] = [self._log(one) for one in cgroup.lineage()]
            self._lineages[process] = lineages[cgroup]

    def _log(self, cgroup: Cgroup) -> _Log:
        log = self._logs.get(cgroup)
        if log is None:
            log = self._logs[cgroup] = _Log(cgroup)
        return log

    def processes_in(self, cgroup: Cgroup) -> Iterator[Process]:
        """The processes in a cgroup and below."""
        for process, logs in self._lineages.items():
            if any(log.cgroup is cgroup for log in logs):
                yield process

    @property
    def full(self) -> bool:
        """True if enough was told to be worked off."""
        return self._pieces > _ENOUGH

    def add(self, demand: Demand, now: int) -> None:
        """Take the piece of time of a process from when its demand or rate last changed until `now`."""
        process, runner = demand.process, demand.runner
        logs = self._lineages.get(process)
        if logs is None:
            return
        since = demand.since
        time = now - since
        threads = runner.queues
        used, active, waited, _ = piece(
            time,
            used=(runner.used - demand.used) / CPU,
            stopped=runner.stopped - demand.stopped,
            asked=demand.asked > 0,
            starved=demand.starved,
            threads=threads,
        )
        if active > 0:
            actives, uses = round(active * _WHOLE / time), round(used * _WHOLE / time)
            waits = round(waited * active / threads * _WHOLE / (time * time)) if waited > 0 else 0
            each = waited if demand.starved else waited / threads
            shares = min(_WHOLE, round(each * _WHOLE / time)) if waits else 0
            begins, ends = (since, actives, waits, uses, shares), (now, -actives, -waits, -uses, -shares)
            for log in logs:
                log.changes.append(begins)
                log.changes.append(ends)
                log.allowed |= demand.allowed
                if waits:
                    log.stalls = True
            self._pieces += len(logs)
        for name, share in demand.waits.items():
            waiting = round(share * threads * _WHOLE)
            weighted = round(waiting * min(1.0, share + active / (time * threads)))
            for log in logs if waiting else ():
                log.waits.setdefault(name, []).extend(((since, waiting, weighted), (now, -waiting, -weighted)))

    # -- what was told ------------------------------------------------------------------------------

    def settle(self) -> None:
        """Work off what was told, all until now."""
        self._pieces = 0
        for log in self._logs.values():
            if log.changes or log.waits:
                self._settle_cpu(log)
                for name, changes in log.waits.items():
                    self._settle_waits(log, name, changes)
                log.changes, log.waits, log.stalls, log.allowed = [], {}, False, 0
        self._logs = {log.cgroup: log for logs in self._lineages.values() for log in logs}

    def _settle_cpu(self, log: _Log) -> None:
        changes, cpus, root = log.changes, log.allowed.bit_count() or self._cpus, log.cgroup.is_root
        if not changes:
            return
        changes.sort()
        stalls = stalls_of(log.cgroup, "cpu", changes[0][0])
        if not log.stalls:
            return
        active = waits = used = shares = 0
        last = begun = changes[0][0]
        some = full = 0.0
        for time, more_active, more_waits, more_used, more_shares in changes:
            if time > last:
                if waits:
                    its_some, its_full = stalled(active, waits, used, cpus * _WHOLE)
                    most = shares / _WHOLE  # while nobody waits, nothing stalls
                    its_some, its_full = min(its_some, most), min(its_full, most)
                else:
                    its_some = its_full = 0.0
                if its_some != some or its_full != full:
                    if some and last > begun:
                        stalls.add(last, last - begun, some * (last - begun), 0.0 if root else full * (last - begun))
                    begun, some, full = last, its_some, its_full
                last = time
            active += more_active
            waits += more_waits
            used += more_used
            shares += more_shares
        if some and last > begun:
            stalls.add(last, last - begun, some * (last - begun), 0.0 if root else full * (last - begun))

    def _settle_waits(self, log: _Log, name: str, changes: list[_Wait]) -> None:
        """Count stalls for memory or io."""
        merged = [(time, waiting, weighted, 0) for time, waiting, weighted in changes]
        merged += [(time, 0, 0, active) for time, active, *_ in log.changes]
        merged.sort()
        stalls = stalls_of(log.cgroup, name, changes[0][0])
        waiting = weighted = active = 0
        last = merged[0][0]
        for time, more_waiting, more_weighted, more_active in merged:
            if time > last and waiting > 0:
                some, full = stalled_of(waiting / _WHOLE, weighted / _WHOLE, active / _WHOLE, self._cpus)
                stalls.add(time, time - last, some * (time - last), full * (time - last))
            last = time
            waiting += more_waiting
            weighted += more_weighted
            active += more_active


def stalls_of(cgroup: Cgroup, name: str, first: int) -> Stalls:
    """The stalls of a cgroup for a resource, which are counted from the time `first` on if there were none."""
    stalls = cgroup.stalls.get(name)
    if stalls is None:
        every = interval(_HZ)
        made = cgroup.atime  # the averages are updated each so often from then on (psi_group_init)
        stalls = Stalls(first - (first - made) % every, every)
        cgroup.stalls = {**cgroup.stalls, name: stalls}
    return stalls
