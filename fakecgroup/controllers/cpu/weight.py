"""A group's share of the CPU: cpu.shares (v1), cpu.weight and cpu.weight.nice (v2), cpu.idle (both).

The kernel stores shares. A weight is shares in hundredths of 1024, a nice the nearest row of the kernel's table
(kernel/sched/core.c: sched_weight_from_cgroup, sched_weight_to_cgroup, sched_prio_to_weight).
"""

from __future__ import annotations

from errno import EINVAL, ERANGE

from ...core.cftype import CFType, Where
from ...refuse import refuse
from .css import SHARES_DEFAULT, Cpu

SHARES_MIN = 2
SHARES_MAX = 1 << 18
SHARES_IDLE = 3
WEIGHT_MIN, WEIGHT_DEFAULT, WEIGHT_MAX = 1, 100, 10000
NICE_MIN, NICE_MAX = -20, 19

# Load weight of nice -20 to 19: each step is about 10 % of CPU.
_NICE = (
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
)  # fmt: skip


def _divide_closest(value: int, divisor: int) -> int:
    return (value + divisor // 2) // divisor


def shares_from_weight(weight: int) -> int:
    """Shares of a weight, to the nearest whole number."""
    return _divide_closest(weight * 1024, WEIGHT_DEFAULT)


def weight_from_shares(shares: int) -> int:
    """Weight of shares, not clamped: idle shares give 0, which kernels before 6.12 show."""
    return _divide_closest(shares * WEIGHT_DEFAULT, 1024)


def shares_from_nice(nice: int) -> int:
    """Shares of a nice from -20 to 19."""
    return _NICE[nice - NICE_MIN]


def nice_from_shares(shares: int) -> int:
    """The first nice after which the distance no longer shrinks (cpu_weight_nice_read_s64)."""
    last = 1 << 62
    for step, weight in enumerate(_NICE):
        distance = abs(weight - shares)
        if distance >= last:
            return step - 1 + NICE_MIN
        last = distance
    return NICE_MAX


def _set_shares(css: Cpu, shares: int) -> None:
    """Clamp shares to 2..262144 and store them.

    Raises EINVAL in the root and in an idle group (sched_group_set_shares).
    """
    if css.idle or css.parent is None:
        raise refuse(EINVAL)
    css.shares = min(max(shares, SHARES_MIN), SHARES_MAX)


def read_shares(css: Cpu) -> int:
    return css.shares


def write_shares(css: Cpu, value: int) -> None:
    _set_shares(css, value)


def read_weight(css: Cpu) -> int:
    weight = weight_from_shares(css.shares)
    return min(max(weight, WEIGHT_MIN), WEIGHT_MAX) if css.kernel.at_least(6, 12) else weight


def write_weight(css: Cpu, value: int) -> None:
    """Take 1..10000. Raises ERANGE for anything else."""
    if not WEIGHT_MIN <= value <= WEIGHT_MAX:
        raise refuse(ERANGE)
    _set_shares(css, shares_from_weight(value))


def read_nice(css: Cpu) -> int:
    return nice_from_shares(css.shares)


def write_nice(css: Cpu, value: int) -> None:
    """Take -20..19. Raises ERANGE for anything else."""
    if not NICE_MIN <= value <= NICE_MAX:
        raise refuse(ERANGE)
    _set_shares(css, shares_from_nice(value))


def read_idle(css: Cpu) -> int:
    return int(css.idle)


def write_idle(css: Cpu, value: int) -> None:
    """Take 0 or 1; a change resets the shares (sched_group_set_idle). Raises EINVAL for anything else."""
    if css.parent is None or value not in (0, 1):
        raise refuse(EINVAL)
    if css.idle == bool(value):
        return
    css.idle = bool(value)
    css.shares = SHARES_IDLE if css.idle else SHARES_DEFAULT


DFL = (
    CFType("cpu.weight", Where.CHILD, read_u64=read_weight, write_u64=write_weight),
    CFType("cpu.weight.nice", Where.CHILD, read_s64=read_nice, write_s64=write_nice),
    CFType("cpu.idle", Where.CHILD, since=(6, 1), read_s64=read_idle, write_s64=write_idle),
)
LEGACY = (
    CFType("cpu.shares", read_u64=read_shares, write_u64=write_shares),
    CFType("cpu.idle", since=(6, 1), read_s64=read_idle, write_s64=write_idle),
)
