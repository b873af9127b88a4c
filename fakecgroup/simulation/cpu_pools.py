"""Processes that may not use all CPUs: what is left for them where a set of CPUs is overcrowded."""

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


class Pools:
    """The processes below a root queue, and the sets of CPUs that they may use."""

    def __init__(self, root: Queue, demands: Iterable[Demand], cpus: int) -> None:
        self._cpus = cpus
        self._shares: dict[Demand, Share] = {}
        self._root = self._share(root)
        self._demands = list(demands)

    def _share(self, part: Part) -> Share:
        if isinstance(part, Demand):
            self._shares[part] = Share(part.weight)
            return self._shares[part]
        inner = part.top if isinstance(part, Limited) else part
        assert isinstance(inner, (Queue, Inner))
        most = inner.most / CPU if isinstance(inner, Inner) and inner.most < NEVER else inf
        return Share(inner.weight, most, list(map(self._share, inner.parts)))

    def lowered(self) -> dict[Demand, int]:
        """What each process claims, so that those which may use a set of CPUs alone claim no more than there are.

        None but these claim less than they want.
        """
        for demand, share in self._shares.items():
            share.most = demand.wanted / CPU
        masks = {demand.allowed for demand in self._demands if demand.asked} - {(1 << self._cpus) - 1}
        fits = True
        for pool in _unions(sorted(masks)):
            distribute(self._root, float(self._cpus))
            inside = [self._shares[demand] for demand in self._demands if demand.allowed | pool == pool]
            room = float(pool.bit_count())
            if sum(share.rate for share in inside) > room + 1e-9:
                fits = False
                self._lower(inside, room)
        if fits:
            return {demand: demand.wanted for demand in self._demands}
        return {demand: min(demand.wanted, round(self._shares[demand].most * CPU)) for demand in self._demands}

    def _lower(self, inside: Sequence[Share], room: float) -> None:
        """Let some claim what they get of the CPUs that are there for them, while nobody else claims any."""
        outside = [(share, share.most) for share in self._shares.values() if share not in inside]
        for share, _ in outside:
            share.most = 0.0
        distribute(self._root, room)
        for share in inside:
            share.most = share.rate
        for share, most in outside:
            share.most = most


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
