"""Who runs how much: the workloads' demand against weights, quotas and cpusets, piece by piece of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..controllers.cpu.css import RUNTIME_INF, Cpu
from ..controllers.cpu.weight import SHARES_IDLE
from ..effects.bandwidth import CPU, UNLIMITED, Group
from ..effects.fair_share import NICE_0_LOAD
from .cpu_agenda import Agenda
from .cpu_demand import Demand
from .cpu_limited import Inner, Limited
from .cpu_pools import Pools
from .cpu_queue import NEVER, Part, Queue

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup

_WINDOW = 2_004_000_000  # ns: while rates change, a piece of time of who waits is not longer, as psi takes averages


class Scheduler:
    """Divides the CPUs of a machine among processes, as the cpu controllers of their cgroups say.

    `close` is told of each piece of time in which a process wanted the same, and got what it wanted or not.
    """

    _window: int  # when pieces of time were last ended for it
    _now: int

    def __init__(self, cpus: int, offset: Callable[[Cgroup], int], close: Callable[[Demand, int], None]) -> None:
        self._cpus = cpus
        self._offset = offset  # of a group's period timer, in ns
        self._close = close
        self._now = 0
        self._agenda = Agenda()
        self._demands: list[Demand] = []
        self._nodes: dict[Cgroup, Queue | Inner] = {}
        self._groups: dict[Group, Limited] = {}
        self._limited: list[Limited] = []
        self._pools: Pools | None = None  # if there are several CPUs
        self._bound: dict[Demand, None] = {}  # those that would use more CPUs if they might
        self._lowered = False  # processes claim less than they want
        self._root = self._make_root()
        self._changed: dict[Demand, None] = {}  # since rates were last set
        self._unthrottled: dict[Limited, None] = {}  # groups that use more than their quota at times, or changed
        self._roomy = True  # there was room for the most that one of these can use
        self._widest = 0  # this most
        self._window = 0

    # -- the tree -----------------------------------------------------------------------------------

    def _make_root(self) -> Queue:
        root = Queue(NICE_0_LOAD, None, self._agenda)
        root.claim = self._cpus * CPU
        return root

    def build(self, demands: Iterable[tuple[Demand, Cgroup, int]], now: int) -> None:
        """Take the processes with the cgroup and the CPUs of each, and the limits as they are now."""
        self._now = now
        self.settle()
        for old in self._groups:
            old.groups, old.runners, old.rate = [], [], 0
        self._agenda.clear()
        self._demands, self._nodes, self._groups, self._limited = [], {}, {}, []
        self._root = self._make_root()
        self._unthrottled, self._roomy = {}, False
        for demand, cgroup, allowed in demands:
            demand.place(self._node(cgroup), allowed, now, self._agenda, self._close)
            if demand.limited is not None:
                demand.limited.demands.append(demand)
            self._demands.append(demand)
        self._changed = dict.fromkeys(self._demands)
        for limited in self._limited:
            limited.begin(now)
        self._widest = max((limited.most for limited in self._limited), default=0)
        self._pools = Pools(self._root, self._demands, self._cpus) if self._cpus > 1 else None
        self._bound = {demand: None for demand in self._demands if demand.bound and self._cpus > 1}
        self._lowered = False

    def _node(self, cgroup: Cgroup) -> Queue | Inner:
        """The queue of the css in effect."""
        css = cgroup.effective_css("cpu")
        if not isinstance(css, Cpu) or css.parent is None:
            return self._root
        known = self._nodes.get(css.cgroup)
        if known is None:
            assert css.cgroup.parent is not None
            above = self._node(css.cgroup.parent)
            known = self._nodes[css.cgroup] = self._make_node(css, above)
        return known

    def _make_node(self, css: Cpu, above: Queue | Inner) -> Queue | Inner:
        weight = SHARES_IDLE if css.idle else css.shares
        group = self._group(css)
        group.weight = weight
        most = css.quota * CPU // css.period if group.limited else NEVER
        if isinstance(above, Inner):
            inner = Inner(weight, most, group, above)
        elif group.limited:
            limited = Limited(weight, most, group, above, self._agenda, self._unthrottled)
            self._limited.append(limited)
            inner = limited.top
        else:
            return Queue(weight, above, self._agenda)
        self._groups[group] = inner.limited
        return inner

    def _group(self, css: Cpu) -> Group:
        """The group's bandwidth, which has a quota more at once when its limits change (tg_set_cfs_bandwidth).

        A burst is written after the quota, so that a new group has both.
        """
        group = css.throttling
        if group is None or group.unit != CPU:
            group = css.throttling = _begun(group, self._offset(css.cgroup), self._cpus)
        quota = UNLIMITED if css.quota == RUNTIME_INF else css.quota * CPU
        burst = css.burst * CPU
        if (group.quota, group.period, group.burst) != (quota, css.period, burst):
            writes = 2 if group.quota == UNLIMITED and burst else 1
            group.quota, group.period, group.burst = quota, css.period, burst
            group.runtime = group.snapshot = (
                min(max(0, group.runtime) + writes * quota, quota + burst) if group.limited else 0
            )
            group.throttled = False
        return group

    # -- who runs now -------------------------------------------------------------------------------

    def change(self, demand: Demand, cpus: float, needs: int | None) -> None:
        """Take the CPUs that a process would use from now on, and the CPU time that it needs (None: no end)."""
        if demand.limited is not None:
            demand.limited.change(self._now)
        else:
            demand.settle(self._now)
        demand.close(self._now)
        demand.asked = round(cpus * CPU)
        if demand.bound and self._cpus > 1:
            self._bound[demand] = None
        else:
            self._bound.pop(demand, None)
        demand.runner.needs = needs
        self._changed[demand] = None

    def resolve(self) -> None:
        """Give each process its rate, after demands have changed."""
        changed, self._changed = self._changed, {}
        if not changed:
            return
        if self._pools is not None and (self._lowered or self._pools.partitioned):
            self._take_claims(self._pools, changed)
        else:
            for demand in changed:
                self._claim(demand, demand.wanted)
        self._divide(changed)
        if self._root.crowded and not self._lowered and self._leaves_too_much():
            assert self._pools is not None
            changed = {}
            self._take_claims(self._pools, changed)
            self._divide(changed)
        root, now = self._root, self._now
        spare = root.claim - root.total
        self._give_unthrottled(roomy=spare >= self._widest)
        if spare < self._widest and now - self._window >= _WINDOW:
            self._window = now
            for demand in self._demands:
                if demand.starved or (demand.limited is not None and demand.limited.varies):
                    demand.settle(now)
                    demand.close(now)

    def _divide(self, changed: Iterable[Demand]) -> None:
        """Divide the CPUs among what is claimed now, which has changed for some."""
        root, now = self._root, self._now
        if root.claim < root.total or root.crowded:
            for demand in changed:
                part: Part = demand.outer
                queue = demand.outer_queue
                while queue is not None:
                    queue.pending[part] = None
                    part, queue = queue, queue.queue
            root.update(root.claim, now)
        else:
            for demand in changed:
                demand.outer.visit(now)

    def _leaves_too_much(self) -> bool:
        """True if a process that would use more CPUs has all that it may, and those beside it may have the rest."""
        return any(not demand.short and _shares_a_group(demand) for demand in self._bound)

    def _take_claims(self, pools: Pools, changed: dict[Demand, None]) -> None:
        """Let all claim what is there for them. Those whose claim is another than before have `changed`."""
        claims = pools.claims()
        self._lowered = claims is not None
        for demand in self._demands:
            claim = claims[demand] if claims is not None else demand.wanted
            if claim != demand.claim:
                self._claim(demand, claim)
                changed[demand] = None

    def _claim(self, demand: Demand, claim: int) -> None:
        if claim != demand.claim:
            if demand.limited is not None:
                demand.limited.change(self._now)
            else:
                demand.settle(self._now)
            demand.queue.reclaim(demand, claim, self._now)

    def _give_unthrottled(self, *, roomy: bool) -> None:
        """Give groups with a quota what they can use while they are not throttled."""
        for limited in list(self._unthrottled):
            if limited.stirred or not (roomy and self._roomy):
                limited.take_unthrottled(self._now, roomy=roomy)
            if not limited.greedy:
                del self._unthrottled[limited]
        self._roomy = roomy

    # -- time ---------------------------------------------------------------------------------------

    def next(self, until: int) -> int:
        """When the first process has the CPU time that it needs; `until` if none has before."""
        return self._agenda.next(until)

    def advance(self, until: int) -> list[Demand]:
        """Let time pass. Returns the processes that have what they need then."""
        self._now = until
        done = [demand for source in self._agenda.due(until) for demand in source.due(until)]
        for demand in done:
            demand.runner.needs = None
            self._changed[demand] = None
        return done

    def may_wait(self, demand: Demand) -> bool:
        """True if a process has less than it wants, or may be throttled while nothing changes for it."""
        limited = demand.limited
        return demand.asked > 0 and (demand.starved or (limited is not None and limited.may_throttle(self._now)))

    def settle(self) -> None:
        """Compute what happened to all processes until now, and end their pieces of time."""
        for demand in self._demands:
            demand.settle(self._now)
            demand.close(self._now)

    def settle_one(self, demand: Demand) -> None:
        """Compute what happened to a process until now."""
        demand.settle(self._now)

    def settle_group(self, group: Group) -> None:
        """Compute what happened to a group with a quota, or below one, until now."""
        limited = self._groups.get(group)
        if limited is not None:
            limited.settle(self._now)
        elif group.unit == CPU:
            group.pass_idle(self._now)


def _shares_a_group(demand: Demand) -> bool:
    """True if others want something in a group where a process is, whose quotas let it have what it claims."""
    shares = False
    above: Queue | Inner | None = demand.queue
    while above is not None and (below := above.queue_above) is not None:
        if isinstance(above, Inner) and above.capped < above.total:
            return False
        shares = shares or above.total > demand.claim
        above = below
    return shares


def _begun(before: Group | None, boundary: int, cpus: int) -> Group:
    """A group that counts on from what was counted before for real processes."""
    group = Group(unit=CPU, boundary=boundary, cpus=cpus)
    if before is not None:
        for name in ("nr_periods", "nr_throttled", "throttled_time", "halted_time", "nr_bursts"):
            setattr(group, name, getattr(before, name))
        group.burst_time = before.burst_time * CPU
    return group
