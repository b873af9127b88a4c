"""Who runs how much: the workloads' demand against weights, quotas and cpusets, piece by piece of time."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, count
from operator import attrgetter
from typing import TYPE_CHECKING

from ..controllers.cpu.css import RUNTIME_INF, Cpu
from ..controllers.cpu.weight import SHARES_IDLE, shares_from_nice
from ..effects.bandwidth import UNLIMITED, BandwidthTree, Group, Runner, Unlimited
from ..effects.fair_share import NICE_0_LOAD, fill

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from .process import Process

_MOST_SETS = 5  # distinct sets of CPUs whose unions are all looked at
_FAR = 60_000_000_000  # ns that are looked ahead for the end of a phase, at first
_NANO = 1_000_000_000  # of a CPU: claims are whole, so that sums are exact
_by_threshold = attrgetter("threshold")


class Part:
    """A task or a group in a group's queue: its `weight`, what it claims of the CPUs, and its `rate`, the result.

    `claim` is in billionths of a CPU, `rate` in CPUs.
    """

    __slots__ = ("claim", "rate", "threshold", "weight")

    def __init__(self, weight: int) -> None:
        self.weight = weight
        self.claim = 0
        self.threshold = 0.0  # the claim by weight: of a crowded queue, those with little are satisfied first
        self.rate = 0.0

    def set_claim(self, claim: int) -> None:
        self.claim = claim
        self.threshold = claim / self.weight


class Demand(Part):
    """A process as the scheduler sees it: `cpus` it would use now, and the CPUs it may use.

    `runner` counts what it used. `since` is the time at which its demand or its rate last changed; the counts and what
    it waited for are of then.
    """

    __slots__ = ("allowed", "cpus", "lane", "node", "process", "room", "runner", "since", "stopped", "used", "waits")

    def __init__(self, process: Process, now: int) -> None:
        super().__init__(shares_from_nice(process.workload.nice) * process.threads)
        self.process = process
        self.runner = Runner(queues=process.threads, weight=self.weight)
        self.cpus = 0.0
        self.allowed = 0
        self.room = 0.0  # how many CPUs it may use
        self.node: Node | None = None
        self.lane: Lane | None = None
        self.since = now
        self.used = 0.0
        self.stopped = 0.0
        self.waits: dict[str, float] = {}

    @property
    def wanted(self) -> int:
        """Billionths of a CPU that it would use."""
        return round(min(self.cpus, self.room) * _NANO)


class Node(Part):
    """A group of the cpu controller that has processes here or below. The sums are in billionths of a CPU."""

    __slots__ = ("asked", "changed", "claims", "group", "limited", "most", "ordered", "parent", "parts", "weights")

    def __init__(self, weight: int, most: float, group: Group, parent: Node | None) -> None:
        super().__init__(weight)
        self.most = most  # billionths of a CPU that its quota allows on the average
        self.group = group
        self.parent = parent
        self.parts: list[Part] = []
        self.ordered = False  # the parts are in the order of their thresholds
        self.changed = True  # something below claims more or less than when it was last given its rate
        self.weights = 0  # of its parts
        self.claims = 0  # of its parts
        self.asked = 0  # by its parts if there were no quota here or below
        self.limited: Node | None = None  # the topmost group with a quota, this or above
        if parent is not None:
            parent.take(self)
            parent.group.groups.append(group)
            self.limited = parent.limited
        if self.limited is None and group.limited:
            self.limited = self

    def take(self, part: Part) -> None:
        """Add a part, which claims nothing yet."""
        self.parts.append(part)
        self.weights += part.weight
        self.ordered = False

    def order(self) -> None:
        """Bring the parts into the order of their thresholds."""
        if not self.ordered:
            self.parts.sort(key=_by_threshold)
            self.ordered = True

    def level(self, rate: float) -> float | None:
        """Up to which threshold parts get what they claim, if they get so many CPUs together; None: all do.

        The others get this times their weight. Afterwards the parts are in the order of their thresholds.
        """
        room, weights = rate * _NANO, self.weights
        if self.claims <= room:
            return None
        if len(self.parts) == 1:
            return room / weights
        self.order()
        for part in self.parts:
            if part.threshold * weights > room:
                return room / weights
            room -= part.claim
            weights -= part.weight
        return None

    def add(self, more: int, more_asked: int) -> None:
        """Add to what the parts claim, here and above: one of them claims more or less."""
        self.ordered = False
        node: Node | None = self
        while node is not None and (more or more_asked):
            node.claims += more
            node.asked += more_asked
            its = node.claims if node.claims < node.most else round(node.most)
            more = its - node.claim
            node.claim, node.threshold = its, its / node.weight
            node.changed = True
            node = node.parent
            if node is not None:
                node.ordered = False


class Lane:
    """Processes whose progress depends on each other: those below one quota; or one process without a quota."""

    __slots__ = ("demands", "far", "serial", "settled", "tree")

    def __init__(self, tree: BandwidthTree | Unlimited, demands: list[Demand]) -> None:
        self.tree = tree
        self.demands = demands
        self.settled = -1  # up to when it was computed
        self.serial = 0  # of its event in the queue
        self.far = _FAR  # ns that are looked ahead; the farther, the longer nothing happens

    def needs(self) -> bool:
        """True if a process here runs until it has used some CPU time."""
        for demand in self.demands:  # noqa: SIM110  (this is called for each phase)
            if demand.runner.needs is not None:
                return True
        return False


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
        self._limited: dict[Node, list[Demand]] = {}  # the topmost groups with a quota, and the processes below
        self._nodes: dict[Cgroup, Node] = {}  # parents before children
        self._root = self._make_root()
        self._now = 0
        self._queue: list[tuple[int, int, Lane, int]] = []  # ends of phases: time, order, lane, serial
        self._order = count()
        self._changed: dict[Demand, None] = {}  # since rates were last set
        self._touched: dict[Lane, None] = {}  # their next event is to be found
        self._all = False  # all rates are to be set
        self._partitioned = False  # somebody may not use all CPUs
        self._widest = 0  # billionths of a CPU that the processes below a quota can ask for at the most

    def _make_root(self) -> Node:
        return Node(NICE_0_LOAD, float(self._cpus * _NANO), Group(), None)

    def build(self, demands: Iterable[tuple[Demand, Cgroup, int]], now: int) -> None:
        """Take the processes with the cgroup and the CPUs of each, and the limits as they are now."""
        self._now = now
        self.settle()
        for old in self._nodes.values():
            old.group.groups, old.group.runners = [], []
        self._nodes, self._limited = {}, {}
        self._demands, self._lanes, self._queue = [], [], []
        self._changed, self._touched = {}, {}
        self._root = self._make_root()
        self._partitioned = False
        whole = (1 << self._cpus) - 1
        for demand, cgroup, allowed in demands:
            demand.node = node = self._node(cgroup)
            demand.allowed = allowed
            demand.room = float(allowed.bit_count())
            demand.set_claim(0)
            self._partitioned = self._partitioned or allowed != whole
            node.take(demand)
            if node.limited is not None:
                node.group.runners.append(demand.runner)
                self._limited.setdefault(node.limited, []).append(demand)
            else:
                self._add_lane(Unlimited(demand.runner, now), [demand])
            self._demands.append(demand)
            self._changed[demand] = None
        self._widest = 0
        for node, inside in self._limited.items():
            self._add_lane(BandwidthTree(node.group, now), inside)
            its = sum(min(demand.room, float(demand.process.threads)) for demand in inside)
            self._widest = max(self._widest, round(its * _NANO))
        self._all = True

    def _add_lane(self, tree: BandwidthTree | Unlimited, demands: list[Demand]) -> None:
        lane = Lane(tree, demands)
        self._lanes.append(lane)
        self._touched[lane] = None
        for demand in demands:
            demand.lane = lane

    def _node(self, cgroup: Cgroup) -> Node:
        """The node of the css in effect."""
        css = cgroup.effective_css("cpu")
        if not isinstance(css, Cpu) or css.parent is None:
            return self._root
        known = self._nodes.get(css.cgroup)
        if known is None:
            assert css.cgroup.parent is not None
            parent = self._node(css.cgroup.parent)
            weight = SHARES_IDLE if css.idle else css.shares
            group = self._group(css)
            group.weight = weight
            known = self._nodes[css.cgroup] = Node(weight, _quota(css) * _NANO, group, parent)
        return known

    def _group(self, css: Cpu) -> Group:
        """The group's bandwidth, which has a quota more at once when its limits change (tg_set_cfs_bandwidth).

        A burst is written after the quota, so that a new group has both.
        """
        group = css.throttling
        if group is None:
            group = css.throttling = Group(boundary=self._offset(css.cgroup), cpus=self._cpus)
        quota = UNLIMITED if css.quota == RUNTIME_INF else css.quota
        if (group.quota, group.period, group.burst) != (quota, css.period, css.burst):
            writes = 2 if group.quota == UNLIMITED and css.burst else 1
            group.quota, group.period, group.burst = quota, css.period, css.burst
            group.runtime = min(max(0.0, group.runtime) + writes * quota, float(quota + css.burst))
            group.snapshot = group.runtime = group.runtime if quota != UNLIMITED else 0.0
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
        lane = demand.lane
        assert lane is not None
        if demand.since < self._now:
            self._settle_lane(lane)
        lane.tree.back()
        lane.far = _FAR
        self._touched[lane] = None

    def resolve(self) -> None:
        """Give each process its rate, after demands have changed."""
        if self._changed:
            for demand in self._changed:
                self._claim(demand, demand.wanted)
            if self._all or self._partitioned or self._crowded:
                self._all = self._resolve_all()
            else:
                for demand in self._changed:
                    self._set_rate(demand, demand.claim / _NANO)
            self._changed = {}
        for lane in self._touched:
            lane.tree.set_rates()
            lane.serial += 1
            if lane.needs():
                then = lane.tree.completion(self._now + lane.far)
                heapq.heappush(self._queue, (then, next(self._order), lane, lane.serial))
        self._touched = {}

    @property
    def _crowded(self) -> bool:
        """True if there are too few CPUs for all claims, or for those of one group while it is not throttled."""
        room = self._root.most - self._root.claims
        return room < 0 or (self._widest > room and any(node.asked - node.claim > room for node in self._limited))

    @staticmethod
    def _claim(demand: Demand, claim: int) -> None:
        more = claim - demand.claim
        demand.set_claim(claim)
        assert demand.node is not None
        demand.node.add(more, more)

    def _set_rate(self, demand: Demand, rate: float) -> None:
        if demand.runner.rate != rate:
            self._bring_up(demand)
            demand.runner.rate = rate

    def _resolve_all(self) -> bool:
        """Set all rates. True if there are too few CPUs, and somebody gets less than he claims."""
        lowered = self._fit_into_cpusets() if self._partitioned else False
        crowded = lowered or self._crowded
        self._give(self._root, float(self._cpus))
        for node, inside in self._limited.items():
            if not crowded:
                for demand in inside:
                    demand.rate = demand.claim / _NANO
            elif node.asked > node.claim or node.rate * _NANO < node.claim - 1:  # else it has all it wants
                self._give_unthrottled(node, self._while_unthrottled(node, min(node.asked, self._root.most)))
        for demand in self._demands:
            self._set_rate(demand, demand.rate)
        if lowered:
            for demand in self._demands:
                self._claim(demand, demand.wanted)
        return crowded

    def _give(self, node: Node, rate: float) -> None:
        """Divide what a group gets among its parts, by weight."""
        if rate == node.rate and not node.changed:
            return
        node.rate, node.changed = rate, False
        level = node.level(rate)
        for part in node.parts:
            its = part.claim / _NANO if level is None or part.threshold <= level else part.weight * level / _NANO
            if isinstance(part, Node):
                self._give(part, its)
            else:
                part.rate = its

    def _fit_into_cpusets(self) -> bool:
        """Lower the claims of processes whose CPUs are overcrowded. True if there are any."""
        whole = (1 << self._cpus) - 1
        masks = sorted({demand.allowed for demand in self._demands if demand.cpus > 0} - {whole})
        if not masks:
            return False
        lowered = False
        self._give(self._root, float(self._cpus))
        for pool in _unions(masks):
            inside = [demand for demand in self._demands if demand.allowed | pool == pool]
            room = float(pool.bit_count())
            if sum(demand.rate for demand in inside) <= room + 1e-9:
                continue
            outside = [(demand, demand.claim) for demand in self._demands if demand.allowed | pool != pool]
            for demand, _ in outside:
                self._claim(demand, 0)
            self._give(self._root, room)
            rates = [demand.rate for demand in inside]
            for demand, rate in zip(inside, rates, strict=True):
                self._claim(demand, round(rate * _NANO))
            for demand, claim in outside:
                self._claim(demand, claim)
            lowered = True
            self._give(self._root, float(self._cpus))
        return lowered

    def _while_unthrottled(self, node: Node, claim: float) -> float:
        """CPUs that a group would get if it claimed so much (in billionths), and all others what they do."""
        parent = node.parent
        if parent is None:
            return float(self._cpus)
        claims = parent.claims + claim - node.claim
        room = parent.rate * _NANO
        if claims <= room:
            return claim / _NANO
        if room < parent.claim - 1:  # the group above is short, and gets no more
            if node.rate * _NANO < node.claim - 1:
                return node.rate
        else:
            room = self._while_unthrottled(parent, claims) * _NANO
            if claims <= room:
                return claim / _NANO
        weights = parent.weights
        parent.order()
        for part in parent.parts:
            if part is node:
                continue
            if part.threshold * weights > room or claim / node.weight < part.threshold:
                break
            room -= part.claim
            weights -= part.weight
        return min(claim, room * node.weight / weights) / _NANO

    def _give_unthrottled(self, node: Node, rate: float) -> None:
        """Divide what a group gets while nothing below is throttled."""
        parts = node.parts
        asked = [part.asked if isinstance(part, Node) else part.claim for part in parts]
        if node.asked <= rate * _NANO + 1:
            rates = [its / _NANO for its in asked]
        elif len(parts) == 1:
            rates = [rate]
        else:
            rates = fill(rate, [(part.weight, its / _NANO) for part, its in zip(parts, asked, strict=True)])
        for part, its in zip(parts, rates, strict=True):
            if isinstance(part, Node):
                self._give_unthrottled(part, its)
            else:
                part.rate = its
                if isinstance(part, Demand):
                    part.runner.most = part.claim / _NANO

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
                    lane.far = _FAR
            lane.far *= 2
        return done

    def may_wait(self, demand: Demand) -> bool:
        """True if a process has less than it wants, or may be throttled while nothing changes for it."""
        if demand.cpus <= 0 or demand.lane is None:
            return False
        return demand.runner.rate + 1e-9 < demand.cpus or demand.lane.tree.may_throttle(self._now + _FAR)

    def settle(self) -> None:
        """Compute what happened to all processes until now."""
        for lane in self._lanes:
            self._settle_lane(lane)
            lane.tree.back()

    def settle_one(self, demand: Demand) -> None:
        """Compute what happened to a process until now."""
        if demand.lane is not None:
            self._settle_lane(demand.lane)
            demand.lane.tree.back()

    def _settle_lane(self, lane: Lane) -> None:
        now = self._now
        if lane.settled == now:
            return
        lane.settled = now
        tree = lane.tree
        while tree.now < now:
            tree.advance(now)
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
