"""CPU amounts in the units of the kubelet and of the kernel.

Millicores (1000 = one CPU) ↔ shares (v1 ``cpu.shares``, 1024 = one CPU), and millicores ↔ quota (µs of CPU time per
period). ``cpu_weight`` turns shares into v2's ``cpu.weight``.
"""

from __future__ import annotations

import math

from cgroup_engine.model.limits import CfsQuota
from cgroup_engine.model.quantity import wrapped
from cgroup_engine.model.reason import Inputs, setting

MIN_SHARES = 2  # below this the kernel takes 2
MAX_SHARES = 262144  # above this the kernel takes 262144
SHARES_PER_CPU = 1024
MILLI_PER_CPU = 1000
MIN_QUOTA_US = 1000  # the kernel refuses less


def milli_to_shares(milli: int) -> int:
    """``cm.MilliCPUToShares``: milli × 1024 / 1000, at least 2, at most 262144.

    The upper bound holds for pods and the node since 1.19 (change 93248), for containers since 1.24 (change 106570).
    """
    return max(MIN_SHARES, min(MAX_SHARES, _truncated(wrapped(milli * SHARES_PER_CPU), MILLI_PER_CPU)))


def milli_to_quota(milli: int, period_us: int) -> int:
    """``cm.MilliCPUToQuota`` in µs: milli × period / 1000, at least 1000; 0 for 0, that is no limit."""
    return 0 if milli == 0 else max(MIN_QUOTA_US, _truncated(wrapped(milli * period_us), MILLI_PER_CPU))


def shares_to_milli(shares: int) -> int:
    """``cm.SharesToMilliCPU``: shares × 1000 / 1024 in millicores, rounded up; 0 below 2 shares."""
    return math.ceil(shares * MILLI_PER_CPU / SHARES_PER_CPU) if shares >= MIN_SHARES else 0


def quota_to_milli(quota_us: int, period_us: int) -> int:
    """``cm.QuotaToMilliCPU``: quota × 1000 / period in millicores; 0 for -1, that is no limit."""
    return 0 if quota_us == -1 else _truncated(quota_us * MILLI_PER_CPU, period_us)


def weight_to_shares(weight: int) -> int:
    """CPU shares (2..262144) that a kubelet reads from cpu.weight (1..10000): ((weight - 1) × 262142) / 9999 + 2.

    ``cpuWeightToCPUShares`` of ``pkg/kubelet/cm/cgroup_v2_manager_linux.go``. One weight stands for about 26 numbers
    of shares, and this gives a number at or below the least of them. So 1024 shares are written as 39, 39 is read as
    998, and 998 is written as 38.
    """
    return (weight - 1) * 262142 // 9999 + 2


def systemd_quota(quota_us: int, period_us: int) -> int:
    """A quota in µs as the systemd driver sets it: rounded up to 1% of a CPU (``addCPUQuota``).

    Since opencontainers/cgroups 0.0.2 libcontainer writes the rounded quota too. Before, it wrote the exact one, and
    systemd's next write of the unit brought the rounded one back (kubernetes issue 129357).
    """
    per_second = quota_us * 1_000_000 // period_us
    if per_second % 10_000 == 0:
        return quota_us
    return (per_second // 10_000 + 1) * 10_000 * period_us // 1_000_000


def shares_rule(what: str, milli: int, shares: int | None) -> str:
    """Why a cgroup has its shares, with the numbers filled in."""
    raw = milli * 1024 // 1000
    bound = "" if raw == shares else f", bounded to {shares}"
    return f"{what}: MilliCPUToShares({milli}m) = {milli} × 1024 / 1000 = {raw} shares{bound}"


def quota_rule(what: str, milli: int, cfs: CfsQuota, quota_us: int) -> str:
    """Why a cgroup has its quota, with the numbers filled in."""
    raw = milli * cfs.period_us // 1000
    bound = "" if raw == quota_us else f", at least {quota_us} µs"
    if quota_us > max(raw, MIN_QUOTA_US):
        bound = f", for systemd rounded up to {quota_us} µs"
    return (
        f"{what}: MilliCPUToQuota({milli}m, {cfs.period_us} µs) = {milli} × {cfs.period_us} / 1000 = {raw} µs "
        f"per {cfs.period_us} µs{bound}"
    )


def quota_inputs(cfs: CfsQuota) -> Inputs:
    """The node's settings for quotas."""
    return dict([setting("cpuCFSQuota", cfs.enforced), setting("cpuCFSQuotaPeriod", f"{cfs.period_us}us")])


def _truncated(number: int, divisor: int) -> int:
    """Go's integer division."""
    return number // divisor if number >= 0 else -(-number // divisor)
