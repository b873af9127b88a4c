"""Who runs how much: the workloads' demand against weights, quotas and cpusets, piece by piece of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from ..controllers.cpu.css import RUNTIME_INF, Cpu
from ..controllers.cpu.weight import SHARES_IDLE, shares_from_nice
from ..effects.bandwidth import UNLIMITED, BandwidthTree, Group, Runner
from ..effects.fair_share import Share, distribute, fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.cgroup import Cgroup

_MOST_SETS = 5  # distinct sets of CPUs whose unions are all looked at


@dataclass(eq=False, slots=True)
class Demand:
    """A process as the scheduler sees it: `cpus` it would use now, its `threads`, their `nice`, the CPUs it may use.

    `runner` counts what it used.
    """

    runner: Runner
    threads: int
    nice: int
    cpus: float = 0.0
    allowed: int = 0
    share: Share = field(default_factory=Share)
    limited: Node | None = None  # the topmost group with a quota above it


@dataclass(eq=False, slots=True)
class Node:
    """A group of the cpu controller that has processes here or below."""

    css: Cpu
    share: Share
    group: Group
    parent: Node | None
    limited: Node | None


class Scheduler:
    """Divides the CPUs of a machine among processes, as the cpu controllers of their cgroups say."""

    def __init__(self, cpus: int, offset: Callable[[Cgroup], int]) -> None:
        self._cpus = cpus
        self._offset = offset  # of a group's period timer, in ns
        self._demands: list[Demand] = []
        self._trees: list[BandwidthTree] = []
        self._nodes: dict[Cgroup, Node] = {}
        self._root = Share(most=float(cpus))

    def build(self, demands: Iterable[tuple[Demand, Cgroup, int]], now: int) -> None:
        """Take the processes with the cgroup and the CPUs of each, and the limits as they are now."""
        for old in self._nodes.values():
            old.group.groups, old.group.runners = [], []
        self._nodes = {}
        self._demands = []
        self._root = Share(most=float(self._cpus))
        free = Group()
        for demand, cgroup, allowed in demands:
            node = self._node(cgroup, now)
            load = shares_from_nice(demand.nice)
            demand.share = Share(weight=load * demand.threads, most=0.0)
            demand.allowed = allowed
            demand.limited = node.limited if node is not None else None
            demand.runner.queues = demand.threads
            (node.share if node is not None else self._root).parts.append(demand.share)
            (node.group if demand.limited is not None and node is not None else free).runners.append(demand.runner)
            self._demands.append(demand)
        tops = [node.group for node in self._nodes.values() if node.limited is node]
        self._trees = [BandwidthTree(group, now) for group in (free, *tops)]

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
        node = Node(
            css, Share(weight=SHARES_IDLE if css.idle else css.shares, most=_quota(css)), group, parent, limited
        )
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

    def resolve(self) -> None:
        """Give each process its rate, after demands have changed."""
        for demand in self._demands:
            demand.share.most = min(demand.cpus, float(demand.allowed.bit_count()))
        crowded = self._distribute()
        for demand in self._demands:
            if demand.limited is None:
                demand.runner.rate = demand.share.rate
            elif not crowded:
                demand.runner.rate = demand.share.most
        if crowded:
            for node in {demand.limited for demand in self._demands if demand.limited is not None}:
                self._while_unthrottled(node)
        for tree in self._trees:
            tree.set_rates()

    def _distribute(self) -> bool:
        """Set the shares' rates. True if a process that is not limited by a quota gets less than it wants."""
        distribute(self._root, float(self._cpus))
        self._fit_into_cpusets()
        wanted = sum(part.wanted for part in self._root.parts)
        return wanted > self._cpus + 1e-9 or any(
            demand.share.most + 1e-9 < min(demand.cpus, float(demand.allowed.bit_count())) for demand in self._demands
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
            demand.runner.rate = demand.share.rate
        for share, most in quotas:
            share.most = most

    # -- time ---------------------------------------------------------------------------------------

    def completion(self, until: int) -> int:
        """When the first process has the CPU time that it needs; `until` if none has before."""
        for tree in self._trees:
            until = min(until, tree.completion(until))
        return until

    def advance(self, until: int) -> set[int]:
        """Let time pass. Returns the ids of the runners that have what they need then."""
        done = set()
        for tree in self._trees:
            while tree.now < until:
                runner = tree.advance(until)
                if runner is not None:
                    done.add(id(runner))
        return done


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
