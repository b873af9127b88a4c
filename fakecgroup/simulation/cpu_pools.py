"""Processes that would use more CPUs than they may: what they get, and what they leave to whom.

A thread can use one CPU, and a process those of its cpuset. The queues divide what is left at each level by weight,
which is not what a kernel does then (`effects.fair_share`). So here each process's claim is lowered to what it gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import inf

from ..effects.bandwidth import CPU
from ..effects.fair_share import Share, distribute
from .cpu_demand import Demand
from .cpu_limited import Inner, Limited
from .cpu_queue import NEVER, Part, Queue

_MOST_SETS = 5  # distinct sets of CPUs whose unions are all looked at
_EPSILON = 1e-9


class Pools:
    """The processes below a root queue, and the sets of CPUs that they may use."""

    def __init__(self, root: Queue, demands: Iterable[Demand], cpus: int) -> None:
        self._cpus = cpus
        self._shares: dict[Demand, Share] = {}
        self._quotas: dict[Inner, Share] = {}
        self._root = self._share(root)
        self._demands = list(demands)
        whole = (1 << cpus) - 1
        self.partitioned = any(demand.allowed != whole for demand in self._demands)

    def _share(self, part: Part) -> Share:
        if isinstance(part, Demand):
            self._shares[part] = Share(part.weight)
            return self._shares[part]
        inner = part.top if isinstance(part, Limited) else part
        assert isinstance(inner, (Queue, Inner))
        most = inner.most / CPU if isinstance(inner, Inner) and inner.most < NEVER else inf
        share = Share(inner.weight, most, list(map(self._share, inner.parts)))
        if isinstance(inner, Inner) and inner.most < NEVER:
            self._quotas[inner] = share
        return share

    def claims(self) -> dict[Demand, int] | None:
        """What each process claims, so that nobody claims more than the CPUs that it may use have for it.

        None if all may claim what they want.
        """
        for demand, share in self._shares.items():
            share.most, share.bound = demand.wanted / CPU, demand.bound
        inside = self._lower_pools() if self.partitioned else set[Demand]()
        distribute(self._root, float(self._cpus))
        if not inside and not any(share.bound and share.rate >= share.most for share in self._shares.values()):
            return None
        full = {inner for inner, share in self._quotas.items() if share.rate > share.most - _EPSILON}
        return {
            demand: demand.wanted
            if share.rate > demand.wanted / CPU - _EPSILON or (demand not in inside and _below(demand, full))
            else int(share.rate * CPU)
            for demand, share in self._shares.items()
        }

    def _lower_pools(self) -> set[Demand]:
        """Leave those that may use a set of CPUs alone what there is for them. Returns them."""
        lowered = set()
        masks = {demand.allowed for demand in self._demands if demand.asked} - {(1 << self._cpus) - 1}
        for pool in _unions(sorted(masks)):
            distribute(self._root, float(self._cpus))
            inside = [demand for demand in self._demands if demand.asked and demand.allowed | pool == pool]
            room = float(pool.bit_count())
            if sum(self._shares[demand].rate for demand in inside) > room + _EPSILON:
                lowered.update(inside)
                self._lower({self._shares[demand] for demand in inside}, room)
        return lowered

    def _lower(self, inside: set[Share], room: float) -> None:
        """Let some use no more than what they get of the CPUs that are there for them, while all others get nothing."""
        outside = [(share, share.most, share.bound) for share in self._shares.values() if share not in inside]
        for share, most, _ in outside:
            share.most, share.bound = 0.0, most > 0
        distribute(self._root, room)
        for share in inside:
            share.bound = share.bound or share.rate < share.most
            share.most = share.rate
        for share, most, bound in outside:
            share.most, share.bound = most, bound


def _below(demand: Demand, groups: set[Inner]) -> bool:
    """True if a process is in one of the groups, or below it."""
    above: Inner | Queue | None = demand.queue
    while isinstance(above, Inner):
        if above in groups:
            return True
        above = above.queue_above
    return False


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
