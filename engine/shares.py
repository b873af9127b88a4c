"""CPU amounts in the forms the kubelet and the kernel use.

Millicores (1000 = one CPU) → shares (v1 ``cpu.shares``, 1024 = one CPU) → weight (v2 ``cpu.weight``, 1..10000), and
millicores → quota (µs of CPU time per period).
"""

from __future__ import annotations

MIN_SHARES = 2  # below this the kernel takes 2
MAX_SHARES = 262144  # above this the kernel takes 262144
SHARES_PER_CPU = 1024
MILLI_PER_CPU = 1000
MIN_QUOTA_US = 1000  # the kernel refuses less
DEFAULT_PERIOD_US = 100_000


def milli_to_shares(milli: int) -> int:
    """``cm.MilliCPUToShares``: milli × 1024 / 1000, at least 2, at most 262144.

    The upper bound is in the pod and node level since 1.19. Containers got it between 1.20 (which writes 1024000 for
    1000 CPUs) and 1.32; the release in between is not known here and the whole range is taken as bounded. On v1 there
    is no difference: the kernel bounds what is written.
    """
    return max(MIN_SHARES, min(MAX_SHARES, _truncated(milli * SHARES_PER_CPU, MILLI_PER_CPU)))


def milli_to_quota(milli: int, period_us: int) -> int:
    """``cm.MilliCPUToQuota`` in µs: milli × period / 1000, at least 1000; 0 for 0, which means "not limited"."""
    return 0 if milli == 0 else max(MIN_QUOTA_US, _truncated(milli * period_us, MILLI_PER_CPU))


def shares_to_weight(shares: int) -> int:
    """The linear rule of cgroup v2 for ``cpu.weight``: 1 + ((shares - 2) × 9999) / 262142.

    The kubelet uses it for the node, QoS and pod levels (``cm.getCPUWeight``, all versions here). A container's weight
    is the runtime's: runc 1.1.5 and crun 1.8.1 use the same rule, runc 1.3.6 and crun 1.28 another
    (``ceil(10^((l² + 125·l)/612 - 7/34))``, l = log2 shares), so that 1024 shares are a weight of 39 or of 100. This
    engine uses the linear rule at every level; this function is the one place to change.
    """
    if shares >= MAX_SHARES:
        return 10000
    return 1 + (max(shares, MIN_SHARES) - 2) * 9999 // 262142


def _truncated(number: int, divisor: int) -> int:
    """Go's integer division."""
    return number // divisor if number >= 0 else -(-number // divisor)
