"""Shares of the CPU in a hierarchy of groups, as CPU time per time (kernel/sched/fair.c).

In saturation the scheduler gives each runnable entity of a queue time by its weight, at each level. What an entity
cannot use goes to the others. The model is fluid: it holds over times that are long beside a slice (a few ms).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import floordiv, truediv
from typing import TypeVar

#: The weight of a task of nice 0 (kernel/sched/core.c, sched_prio_to_weight).
NICE_0_LOAD = 1024

_Amount = TypeVar("_Amount", int, float)


@dataclass(slots=True, eq=False)
class Share:
    """A group or a thread in a queue.

    `weight` is its shares (a group) or load (a thread), `most` the CPUs that it can use at the most: a thread's duty, a
    group's quota over its period. `parts` are a group's groups and threads. `rate` is the result, in CPUs.
    """

    weight: int = NICE_0_LOAD
    most: float = 1.0
    parts: list[Share] = field(default_factory=list)
    wanted: float = 0.0
    rate: float = 0.0


def distribute(root: Share, cpus: float) -> None:
    """Set the rate of a tree's root to what it can use of `cpus`, and that of all below to their shares."""
    _want(root)
    _give(root, min(cpus, root.wanted))


def fill(capacity: float, claims: Sequence[tuple[int, float]]) -> list[float]:
    """Divide a capacity among (weight, most) by weight, none more than its most: what one leaves goes to the others."""
    return _fill(capacity, claims, truediv)


def fill_whole(capacity: int, claims: Sequence[tuple[int, int]]) -> list[int]:
    """As `fill`, in whole numbers, which come to the capacity or a little less."""
    return _fill(capacity, claims, floordiv)


def _fill(
    capacity: _Amount, claims: Sequence[tuple[int, _Amount]], divide: Callable[[_Amount, int], _Amount]
) -> list[_Amount]:
    if sum(most for _, most in claims) <= capacity:
        return [most for _, most in claims]
    rates = [capacity] * len(claims)
    weights = sum(weight for weight, _ in claims)
    for number in sorted(range(len(claims)), key=lambda number: claims[number][1] / claims[number][0]):
        weight, most = claims[number]
        rates[number] = min(most, divide(capacity * weight, weights))
        capacity -= rates[number]
        weights -= weight
    return rates


def _want(share: Share) -> float:
    share.wanted = min(share.most, sum(map(_want, share.parts))) if share.parts else share.most
    return share.wanted


def _give(share: Share, rate: float) -> None:
    share.rate = rate
    rates = fill(rate, [(part.weight, part.wanted) for part in share.parts])
    for part, its in zip(share.parts, rates, strict=True):
        _give(part, its)
