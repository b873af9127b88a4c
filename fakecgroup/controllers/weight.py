"""The three faces of a group's share of the CPU: shares (v1), weight and nice (v2).

The kernel keeps shares; a weight is a share in hundredths of 1024, a nice the nearest row of its table
(kernel/sched/core.c: sched_weight_from_cgroup, sched_weight_to_cgroup, sched_prio_to_weight).
"""

from __future__ import annotations

SHARES_DEFAULT = 1024
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
    return _divide_closest(weight * 1024, WEIGHT_DEFAULT)


def weight_from_shares(shares: int) -> int:
    """Not clamped: idle shares give 0, which kernels before 6.12 show."""
    return _divide_closest(shares * WEIGHT_DEFAULT, 1024)


def shares_from_nice(nice: int) -> int:
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
