"""Shares of the CPU in a hierarchy of groups, as CPU time per time (kernel/sched/fair.c).

In saturation the scheduler gives each runnable entity of a queue time by its weight, at each level. What an entity
leaves because it sleeps, or because of a quota, goes to the others of its queue. Not so what a thread leaves because it
cannot use more than one CPU: the group's shares are divided among CPUs by the load that it has there
(calc_group_shares), and the load of such a thread stays where the thread is. So the rest goes to all others of the
machine by load, not to those beside it first. The model is fluid: it holds over times that are long beside a slice (a
few ms), and takes threads to be spread over CPUs so that loads are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from operator import floordiv, truediv
from typing import TypeVar

#: The weight of a task of nice 0 (kernel/sched/core.c, sched_prio_to_weight).
NICE_0_LOAD = 1024

_Amount = TypeVar("_Amount", int, float)


@dataclass(slots=True, eq=False)
class Share:
    """A group or a thread in a queue.

    `weight` is its shares (a group) or load (a thread), `most` the CPUs that it can use at the most: a thread's duty, a
    group's quota over its period. A thread with nothing to do has 0, and does not count. `bound`: it would use more if
    there were more CPUs for it. `parts` are a group's groups and threads. `rate` is the result, in CPUs.
    """

    weight: int = NICE_0_LOAD
    most: float = 1.0
    parts: list[Share] = field(default_factory=list)
    bound: bool = False
    rate: float = 0.0
    _busy: bool = False  # somebody here has something to do
    _full: bool = False  # it is bound, and has all that it can use
    _fixed: float = 0.0  # what those have who are full
    _load: float = 0.0  # the weight without theirs
    _wanted: float = 0.0  # by the others


def distribute(root: Share, cpus: float) -> None:
    """Set the rate of a tree's root to what it can use of `cpus`, and that of all below to their shares."""
    bound = list(_begin(root))
    over = True
    while over:
        _want(root)
        _give(root, min(max(0.0, cpus - root._fixed), root._wanted))
        over = False
        for share in bound:
            if not share._full and share.rate > share.most:
                share._full = over = True


def fill(capacity: float, claims: Sequence[tuple[float, float]]) -> list[float]:
    """Divide a capacity among (weight, most) by weight, none more than its most: what one leaves goes to the others."""
    return _fill(capacity, claims, truediv)


def fill_whole(capacity: int, claims: Sequence[tuple[int, int]]) -> list[int]:
    """As `fill`, in whole numbers, which come to the capacity or a little less."""
    return _fill(capacity, claims, floordiv)


def _fill(
    capacity: _Amount, claims: Sequence[tuple[_Amount, _Amount]], divide: Callable[[_Amount, _Amount], _Amount]
) -> list[_Amount]:
    if sum(most for _, most in claims) <= capacity:
        return [most for _, most in claims]
    rates = [capacity] * len(claims)
    order = sorted(range(len(claims)), key=lambda number: claims[number][1] / claims[number][0])
    weights = list(accumulate(claims[number][0] for number in reversed(order)))  # of those that are left
    for number in order:
        weight, most = claims[number]
        rates[number] = min(most, divide(capacity * weight, weights.pop()))
        capacity -= rates[number]
    return rates


def _begin(share: Share) -> Iterator[Share]:
    """Let nobody be full. Returns those who are bound."""
    share._full = False
    if share.bound:
        yield share
    for part in share.parts:
        yield from _begin(part)


def _want(share: Share) -> None:
    if not share.parts:
        share._busy = share.bound or share.most > 0
        share._fixed = share.most if share._full else 0.0
        share._wanted = 0.0 if share._full else inf if share.bound else share.most
        share._load = float(share.weight) if share._wanted else 0.0
        return
    fixed = wanted = loads = weights = 0.0
    for part in share.parts:
        _want(part)
        if part._busy:
            fixed += part._fixed
            wanted += part._wanted
            loads += part._load
            weights += part.weight
    share._busy = weights > 0
    share._fixed = fixed
    share._wanted = max(0.0, min(share.most - fixed, wanted))
    share._load = share.weight * loads / weights if share._wanted else 0.0


def _give(share: Share, rate: float) -> None:
    share.rate = rate + share._fixed
    parts = [part for part in share.parts if part._load]
    if len(parts) < len(share.parts):
        for part in share.parts:
            if not part._load:
                _give(part, 0.0)
    for part, its in zip(parts, fill(rate, [(part._load, part._wanted) for part in parts]), strict=True):
        _give(part, its)
