"""What limits and weights of disks leave of the transfers that processes would make, as rates.

io.max (block/blk-throttle.c, tg_within_bps_limit and tg_within_iops_limit) lets a cgroup move so many bytes and do so
many operations in a time; what waits for it takes turns, process by process. io.weight (block/blk-iocost.c) divides a
disk's time by weight. The model is fluid: it holds over times that are long beside a slice of the throttle, 100 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .fair_share import Share, distribute

#: Directions of a transfer, by the first letter of io.max's keys.
DIRECTIONS = ("r", "w")
_PAGE = 4096
_NO_LIMIT = float("inf")


@dataclass(slots=True, eq=False)
class Flow:
    """What a process would move to or from a disk: bytes/s in blocks of so many bytes, by direction."""

    wants: Mapping[str, float]
    block: int
    part: float = 1.0  # of what it wants: the result

    def bytes_of(self, direction: str) -> float:
        """Bytes/s that are moved."""
        return self.wants.get(direction, 0.0) * self.part


@dataclass(slots=True, eq=False)
class Queue:
    """A cgroup on one disk: io.max as `limits` (`rbps`, `wbps` bytes/s, `riops`, `wiops` 1/s) and its io.weight."""

    limits: Mapping[str, float] = field(default_factory=dict)
    weight: int = 100
    queues: list[Queue] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)


def share_out(root: Queue, costs: Mapping[str, float] | None) -> None:
    """Set the part of each flow below a disk's root, 1.0 if nothing holds it up.

    `costs` is the disk's io.cost.model (`rbps`, `rseqiops`, `wbps`, `wseqiops`); None if io.cost is off, and weights
    mean nothing.
    """
    flows: dict[Flow, float] = {}
    for direction in DIRECTIONS:
        for unit in ("bps", "iops"):
            tree, leaves = _tree(root, f"{direction}{unit}", direction)
            distribute(tree, _NO_LIMIT)
            _lower(flows, leaves)
    if costs is not None:
        tree, leaves = _timed(root, costs, flows)
        distribute(tree, 1.0)
        _lower(flows, leaves)
    for flow, part in flows.items():
        flow.part = part


def _lower(flows: dict[Flow, float], leaves: list[tuple[Flow, Share]]) -> None:
    for flow, share in leaves:
        part = min(1.0, share.rate / share.most) if share.most > 0 else 1.0
        flows[flow] = min(flows.get(flow, 1.0), part)


def _tree(queue: Queue, limit: str, direction: str) -> tuple[Share, list[tuple[Flow, Share]]]:
    """The claims for one limit: bytes/s or operations/s of one direction."""
    share = Share(most=queue.limits.get(limit, _NO_LIMIT))
    leaves = []
    for flow in queue.flows:
        wanted = flow.wants.get(direction, 0.0)
        if wanted > 0:
            leaf = Share(most=wanted / flow.block if limit.endswith("iops") else wanted)
            share.parts.append(leaf)
            leaves.append((flow, leaf))
    for below in queue.queues:
        its, its_leaves = _tree(below, limit, direction)
        if its_leaves:
            share.parts.append(its)
            leaves += its_leaves
    if not share.parts:
        share.most = 0.0
    share.weight = sum(part.weight for part in share.parts)
    return share, leaves


def _timed(
    queue: Queue, costs: Mapping[str, float], flows: Mapping[Flow, float]
) -> tuple[Share, list[tuple[Flow, Share]]]:
    """The claims of a disk's time, by weight (calc_vtime_cost)."""
    share = Share(weight=queue.weight, most=_NO_LIMIT)
    leaves = []
    for flow in queue.flows:
        leaf = Share(weight=100, most=sum(_time(flow, direction, costs) for direction in DIRECTIONS))
        share.parts.append(leaf)
        leaves.append((flow, leaf))
    for below in queue.queues:
        its, its_leaves = _timed(below, costs, flows)
        if its_leaves:
            share.parts.append(its)
            leaves += its_leaves
    if not share.parts:
        share.most = 0.0
    return share, leaves


def _time(flow: Flow, direction: str, costs: Mapping[str, float]) -> float:
    """The part of a disk's time that a flow would take: a cost for each operation, and one for each page."""
    page = _PAGE / costs[f"{direction}bps"]
    operation = max(0.0, 1 / costs[f"{direction}seqiops"] - page) + page * (flow.block / _PAGE)
    return flow.wants.get(direction, 0.0) / flow.block * operation
