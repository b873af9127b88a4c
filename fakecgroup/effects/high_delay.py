"""How long a process sleeps that grows over memory.high (mm/memcontrol.c, calculate_high_delay)."""

from __future__ import annotations

from .charge import CHARGE_BATCH

_PRECISION_SHIFT = 20  # MEMCG_DELAY_PRECISION_SHIFT
_SCALING_SHIFT = 14  # MEMCG_DELAY_SCALING_SHIFT
_U64 = (1 << 64) - 1


def overage(usage: int, high: int) -> int:
    """How far `usage` is over `high`, both pages, as a part of `high` times 2^20 (calculate_overage)."""
    if usage <= high:
        return 0
    return (usage - high << _PRECISION_SHIFT & _U64) // max(high, 1)


def high_delay(pages: int, over: int, hz: int, batch: int = CHARGE_BATCH) -> int:
    """Jiffies for `pages` just charged, at the greatest `overage` of the ancestors. It is not cut to the most yet.

    Products wrap at 64 bits, as in the kernel.
    """
    penalty = (over * over & _U64) * hz & _U64
    return ((penalty >> _PRECISION_SHIFT >> _SCALING_SHIFT) * pages & _U64) // batch


def sleep(pages: int, over: int, swap_over: int, hz: int, batch: int = CHARGE_BATCH) -> int:
    """Jiffies that a process sleeps, for memory and swap together (mem_cgroup_handle_over_high).

    At most 2 s, and not at all up to 10 ms.
    """
    jiffies = min(high_delay(pages, over, hz, batch) + high_delay(pages, swap_over, hz, batch), 2 * hz)
    return jiffies if jiffies > hz // 100 else 0
