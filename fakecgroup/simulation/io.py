"""Disks as a resource of simulated processes: io.max, io.weight with io.cost, and the counters of io.stat."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from ..controllers.io.css import BPS_MAX, IOPS_MAX, PARTS, Counters, Io
from ..effects.io_shares import Flow, Queue, share_out

if TYPE_CHECKING:
    from collections.abc import Collection

    from .process import Process
    from .world import World

_SECOND = 1_000_000_000


class _Transfer:
    """A process that reads or writes: what it moves in a ns, and the cgroups that count it, its own first."""

    __slots__ = ("csses", "disk", "flow", "process", "rates")

    def __init__(self, process: Process, disk: str, flow: Flow, csses: list[Io]) -> None:
        self.process = process
        self.disk = disk
        self.flow = flow
        self.csses = csses
        self.rates = Counters()


class IoResource:
    """Lets simulated processes read and write, as the limits and weights of their cgroups say.

    A process that gets a part of what it wants stalls for the rest of the time.
    """

    name = "io"
    _now: int

    def __init__(self, world: World) -> None:
        self._world = world
        self._processes: Collection[Process] = ()
        self._transfers: list[_Transfer] = []
        self._changed = True
        self._now = world.now

    def gather(self, processes: Collection[Process]) -> None:
        self._count()
        self._processes = processes
        self._changed = True

    def begin(self, process: Process) -> None:
        phase = process.phase
        assert phase is not None
        if phase.io is not None or (self._transfers and any(one.process is process for one in self._transfers)):
            self._count()
            self._changed = True

    def resolve(self) -> None:
        if not self._changed:
            return
        self._changed = False
        for one in self._transfers:
            one.process.waits.pop(self.name, None)
        self._transfers = []
        roots: dict[str, Queue] = {}
        queues: dict[tuple[str, Io], Queue] = {}
        for process in self._processes:
            self._take(process, roots, queues)
        for disk, root in roots.items():
            share_out(root, self._costs(disk))
        for one in self._transfers:
            one.rates = _rates(one.flow)
            if one.flow.part < 1:
                one.process.waits[self.name] = 1 - one.flow.part

    def _take(self, process: Process, roots: dict[str, Queue], queues: dict[tuple[str, Io], Queue]) -> None:
        phase = process.phase
        hierarchy = self._world.hierarchy("io")
        if phase is None or phase.io is None or process.frozen or hierarchy is None:
            return
        css = hierarchy.cgroup_of(process.pid).effective_css("io")
        if not isinstance(css, Io):
            return
        io = phase.io
        flow = Flow({"r": io.read, "w": io.write}, io.block)
        csses = []
        one: object = css
        while isinstance(one, Io):
            csses.append(one)
            one = one.parent
        self._transfers.append(_Transfer(process, io.device, flow, csses))
        below: Queue | None = None
        for part in csses:
            queue = queues.get((io.device, part))
            known = queue is not None
            if queue is None:
                queue = queues[io.device, part] = _queue_of(part, io.device)
                if part.parent is None:
                    roots[io.device] = queue
            if below is None:
                queue.flows.append(flow)
            else:
                queue.queues.append(below)
            if known:
                break
            below = queue

    def _costs(self, disk: str) -> dict[str, float] | None:
        """io.cost.model of a disk; None if io.cost is not enabled there."""
        hierarchy = self._world.hierarchy("io")
        root = hierarchy.root.csses["io"] if hierarchy is not None else None
        cost = root.costs.get(disk) if isinstance(root, Io) else None
        return {key: float(value) for key, value in cost.model.items()} if cost is not None and cost.enabled else None

    def next(self, until: int) -> int:
        return until

    def advance(self, until: int) -> None:
        self._count()

    def _count(self) -> None:
        """Count what was moved until now."""
        time, self._now = self._world.now - self._now, self._world.now
        if time <= 0:
            return
        for one in self._transfers:
            moved = one.rates.times(time)
            for css in one.csses:
                css.group(one.disk).add(moved)
            one.csses[0].group(one.disk).add_own(moved)


def _rates(flow: Flow) -> Counters:
    """What is moved in a ns."""
    read, written = (flow.bytes_of(direction) * (PARTS / _SECOND) for direction in "rw")
    return Counters(ceil(read), ceil(written), ceil(read / flow.block), ceil(written / flow.block))


def _queue_of(css: Io, disk: str) -> Queue:
    group = css.groups.get(disk)
    if group is None:
        return Queue(weight=css.weight)
    limits = {key: float(value) for key, value in group.limits.items() if value not in (BPS_MAX, IOPS_MAX)}
    return Queue(limits, group.weight or css.weight)
