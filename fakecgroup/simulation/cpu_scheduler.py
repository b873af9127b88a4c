"""Who runs how much: the workloads' demand against weights, quotas and cpusets, piece by piece of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count
from typing import TYPE_CHECKING

from ..controllers.cpu.css import RUNTIME_INF, Cpu
from ..controllers.cpu.weight import SHARES_IDLE, shares_from_nice
from ..effects.bandwidth import UNLIMITED, BandwidthTree, Group, Runner
from ..effects.fair_share import Share, distribute, fill

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from .process import Process

_MOST_SETS = 5  # distinct sets of CPUs whose unions are all looked at
_FAR = 60_000_000_000  # ns that are looked ahead for the end of a phase
_NANO = 1_000_000_000  # of a CPU: claims are whole, so that sums are exact


@dataclass(eq=False, slots=True)
class Demand:
    """A process as the scheduler sees it: `cpus` it would use now, its `threads`, their `nice`, the CPUs it may use.

    `runner` counts what it used. `since` is the time at which its demand or its rate last changed; the counts and what
    it waited for are of then.
    """

    process: Process
    runner: Runner
    cpus: float = 0.0
    allowed: int = 0
    room: float = 0.0  # how many CPUs it may use
    claim: int = 0  # the least of both, in billionths
    share: Share = field(default_factory=Share)
    node: Node | None = None
    lane: Lane | None = None
    since: int = 0
    used: float = 0.0
    stopped: float = 0.0
    waits: dict[str, float] = field(default_factory=dict)

    @property
    def limited(self) -> Node | None:
        """The topmost group with a quota above it."""
        return self.node.limited if self.node is not None else None


@dataclass(eq=False, slots=True)
class Node:
    """A group of the cpu controller that has processes here or below. Claims are in billionths of a CPU."""

    css: Cpu
    share: Share
    group: Group
    parent: Node | None
    limited: Node | None
    most: float  # billionths of a CPU that its quota allows on the average
    claims: int = 0  # of all below
    claim: int = 0


class Lane:
    """Processes whose progress depends on each other: those below one quota; or one process without a quota."""

    __slots__ = ("demands", "serial", "tree")

    def __init__(self, tree: BandwidthTree, demands: list[Demand]) -> None:
        self.tree = tree
        self.demands = demands
        self.serial = 0  # of its event in the queue


class Scheduler:
    """Divides the CPUs of a machine among processes, as the cpu controllers of their cgroups say.

    Each lane is computed when something changes for it, or when all is settled. `close` is told of each process whose
    demand or rate is about to change, with what it has used and waited until `now`.
    """

    def __init__(self, cpus: int, offset: Callable[[Cgroup], int], close: Callable[[Demand, int], None]) -> None:
        self._cpus = cpus
        self._offset = offset  # of a group's period timer, in ns
        self._close = close
        self._demands: list[Demand] = []
        self._lanes: list[Lane] = []
        self._nodes: dict[Cgroup, Node] = {}
        self._root = Share(most=float(cpus))
        self._claims = 0  # of all, in billionths of a CPU
        self._now = 0
        self._queue: list[tuple[int, int, Lane, int]] = []  # ends of phases: time, order, lane, serial
        self._order = count()
        self._changed: dict[Demand, None] = {}  # since rates were last set
        self._touched: dict[Lane, None] = {}  # their next event is to be found
        self._all = False  # all rates are to be set
        self._partitioned = False  # somebody may not use all CPUs

    def build(self, demands: Iterable[tuple[Demand, Cgroup, int]], now: int) -> None:
        """Take the processes with the cgroup and the CPUs of each, and the limits as they are now."""
        self._now = now
        self.settle()
        for old in self._nodes.values():
            old.group.groups, old.group.runners = [], []
        self._nodes = {}
        self._demands = []
        self._lanes = []
        self._queue = []
        self._changed = {}
        self._root = Share(most=float(self._cpus))
        self._claims = 0
        self._partitioned = False
        whole = (1 << self._cpus) - 1
        lanes: dict[Node, list[Demand]] = {}
        for demand, cgroup, allowed in demands:
            node = self._node(cgroup, now)
            threads, nice = demand.process.workload.threads, demand.process.workload.nice
            demand.share = Share(weight=shares_from_nice(nice) * threads, most=0.0)
            demand.allowed = allowed
            demand.room = float(allowed.bit_count())
            demand.node = node
            demand.claim = 0
            demand.runner.queues = threads
            self._partitioned = self._partitioned or allowed != whole
            (node.share if node is not None else self._root).parts.append(demand.share)
            if node is not None and node.limited is not None:
                node.group.runners.append(demand.runner)
                lanes.setdefault(node.limited, []).append(demand)
            else:
                self._add_lane(Group(runners=[demand.runner]), [demand])
            self._demands.append(demand)
        for node, inside in lanes.items():
            self._add_lane(node.group, inside)
        self._changed = dict.fromkeys(self._demands)
        self._touched = dict.fromkeys(self._lanes)
        self._all = True

    def _add_lane(self, group: Group, demands: list[Demand]) -> None:
        lane = Lane(BandwidthTree(group, self._now), demands)
        self._lanes.append(lane)
        for demand in demands:
            demand.lane = lane

    def _node(self, cgroup: Cgroup, now: int) -> Node | None:
        """The node of the css in effect; None for the root's."""
        css = cgroup.effective_css("cpu")
        if not isinstance(css, Cpu) or css.parent is None:
            return None
        known = self._nodes.get(css.cgroup)
        if known is not None:
            return known
        assert css.cgroup.parent is not None
        parent = self._node(css.cgroup.parent, now)
        group = self._group(css)
        limited = parent.limited if parent is not None else None
        quota = _quota(css)
        share = Share(weight=SHARES_IDLE if css.idle else css.shares, most=quota)
        node = Node(css, share, group, parent, limited, quota * _NANO)
        if node.limited is None and css.quota != RUNTIME_INF:
            node.limited = node
        (parent.share if parent is not None else self._root).parts.append(node.share)
        if parent is not None:
            parent.group.groups.append(group)
        self._nodes[css.cgroup] = node
        return node

    def _group(self, css: Cpu) -> Group:
        """The group's bandwidth, which starts again with a full quota when its limits change (tg_set_cfs_bandwidth)."""
        group = css.throttling
        if group is None:
            group = css.throttling = Group(boundary=self._offset(css.cgroup))
        quota = UNLIMITED if css.quota == RUNTIME_INF else css.quota
        if (group.quota, group.period, group.burst) != (quota, css.period, css.burst):
            group.quota, group.period, group.burst = quota, css.period, css.burst
            group.runtime = group.snapshot = float(quota) if quota != UNLIMITED else 0.0
            group.throttled = False
        return group

    # -- who runs now -------------------------------------------------------------------------------

    def change(self, demand: Demand, cpus: float, needs: float | None) -> None:
        """Take what a process wants from now on, and the ns of CPU time that it needs (None: no end)."""
        self._bring_up(demand)
        demand.cpus = cpus
        demand.runner.needs = needs
        self._changed[demand] = None

    def _bring_up(self, demand: Demand) -> None:
        """Compute what happened to a process until now, before something changes for it."""
        assert demand.lane is not None
        self._settle_lane(demand.lane)
        self._touched[demand.lane] = None

    def resolve(self) -> None:
        """Give each process its rate, after demands have changed."""
        if self._changed:
            crowded = self._take_claims()
            if crowded or self._all or self._partitioned:
                self._resolve_all()
                self._all = crowded
            else:
                for demand in self._changed:
                    self._set_rate(demand, min(demand.cpus, demand.room))
            self._changed = {}
        for lane in self._touched:
            lane.tree.set_rates()
            lane.serial += 1
            if any(demand.runner.needs is not None for demand in lane.demands):
                then = lane.tree.completion(self._now + _FAR)
                heapq.heappush(self._queue, (then, next(self._order), lane, lane.serial))
        self._touched = {}

    def _take_claims(self) -> bool:
        """Add up what the changed processes claim now. True if all together claim more than there is."""
        for demand in self._changed:
            claim = round(min(demand.cpus, demand.room) * _NANO)
            more, demand.claim = claim - demand.claim, claim
            node = demand.node
            while node is not None and more:
                node.claims += more
                its = node.claims if node.claims < node.most else round(node.most)
                more, node.claim = its - node.claim, its
                node = node.parent
            self._claims += more
        return self._claims > self._cpus * _NANO + 1

    def _set_rate(self, demand: Demand, rate: float) -> None:
        if demand.runner.rate != rate:
            self._bring_up(demand)
            demand.runner.rate = rate

    def _resolve_all(self) -> None:
        for demand in self._demands:
            demand.share.most = min(demand.cpus, demand.room)
        crowded = self._distribute()
        if crowded:
            for demand in self._demands:
                if demand.limited is None:
                    self._set_rate(demand, demand.share.rate)
            for node in {demand.limited: None for demand in self._demands if demand.limited is not None}:
                self._while_unthrottled(node)
        else:
            for demand in self._demands:
                self._set_rate(demand, demand.share.most if demand.limited is not None else demand.share.rate)

    def _distribute(self) -> bool:
        """Set the shares' rates. True if a process that is not limited by a quota gets less than it wants."""
        distribute(self._root, float(self._cpus))
        if self._partitioned:
            self._fit_into_cpusets()
        wanted = sum(part.wanted for part in self._root.parts)
        return wanted > self._cpus + 1e-9 or any(
            demand.share.most + 1e-9 < min(demand.cpus, demand.room) for demand in self._demands
        )

    def _fit_into_cpusets(self) -> None:
        """Lower what processes get whose CPUs are overcrowded, and give the rest to the others."""
        whole = (1 << self._cpus) - 1
        masks = sorted({demand.allowed for demand in self._demands if demand.cpus > 0} - {whole})
        if not masks:
            return
        for pool in _unions(masks):
            inside = [demand for demand in self._demands if demand.allowed | pool == pool]
            room = float(pool.bit_count())
            if sum(demand.share.rate for demand in inside) <= room + 1e-9:
                continue
            outside = {id(demand.share) for demand in self._demands if demand.allowed | pool != pool}
            kept = [(demand.share, demand.share.most) for demand in self._demands if id(demand.share) in outside]
            for share, _ in kept:
                share.most = 0.0
            distribute(self._root, room)
            for demand in inside:
                demand.share.most = demand.share.rate
            for share, most in kept:
                share.most = most
            distribute(self._root, float(self._cpus))

    def _while_unthrottled(self, limited: Node) -> None:
        """Set the rates below a limited group to what its processes get while it is not throttled."""
        path = [limited]
        while path[-1].parent is not None:
            path.append(path[-1].parent)
        inside = [demand for demand in self._demands if demand.limited is limited]
        below = [node for node in self._nodes.values() if node.limited is limited]
        quotas = [(node.share, node.share.most) for node in below]
        for share, _ in quotas:
            share.most = float(self._cpus)
        capacity = float(self._cpus)
        parts = self._root.parts
        for node in reversed(path):
            wanted = min(node.share.most, sum(demand.share.most for demand in inside)) if node is limited else None
            claims = [
                (part.weight, wanted if wanted is not None and part is node.share else part.wanted) for part in parts
            ]
            capacity = fill(capacity, claims)[parts.index(node.share)]
            parts = node.share.parts
        distribute(limited.share, capacity)
        for demand in inside:
            self._set_rate(demand, demand.share.rate)
        for share, most in quotas:
            share.most = most

    # -- time ---------------------------------------------------------------------------------------

    def next(self, until: int) -> int:
        """When the first process has the CPU time that it needs; `until` if none has before."""
        queue = self._queue
        while queue:
            time, _, lane, serial = queue[0]
            if serial == lane.serial:
                return min(time, until)
            heapq.heappop(queue)
        return until

    def advance(self, until: int) -> list[Demand]:
        """Let time pass. Returns the processes that have what they need then."""
        self._now = until
        done = []
        while self._queue and self._queue[0][0] <= until:
            _, _, lane, serial = heapq.heappop(self._queue)
            if serial != lane.serial:
                continue
            self._settle_lane(lane)
            self._touched[lane] = None
            for demand in lane.demands:
                needs = demand.runner.needs
                if needs is not None and needs < 0.5:
                    demand.runner.needs = None
                    done.append(demand)
        return done

    def settle(self) -> None:
        """Compute what happened to all processes until now."""
        for lane in self._lanes:
            self._settle_lane(lane)

    def settle_one(self, demand: Demand) -> None:
        """Compute what happened to a process until now."""
        if demand.lane is not None:
            self._settle_lane(demand.lane)

    def _settle_lane(self, lane: Lane) -> None:
        now = self._now
        if lane.tree.now < now:
            while lane.tree.now < now:
                lane.tree.advance(now)
        for demand in lane.demands:
            if demand.since < now:
                self._close(demand, now)


def _quota(css: Cpu) -> float:
    """CPUs that a quota allows on the average."""
    return float("inf") if css.quota == RUNTIME_INF else css.quota / css.period


def _unions(masks: Sequence[int]) -> list[int]:
    """Sets of CPUs that can be overcrowded: the masks and their unions, small ones first."""
    pools = set(masks)
    if len(masks) <= _MOST_SETS:
        for number in range(2, len(masks) + 1):
            for chosen in combinations(masks, number):
                union = 0
                for mask in chosen:
                    union |= mask
                pools.add(union)
    return sorted(pools, key=lambda pool: (pool.bit_count(), pool))
