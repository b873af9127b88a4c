"""CPU shares and weight, CPU quota and period.

The kernel (kernel/sched/core.c) bounds v1's ``cpu.shares`` to 2..262144. It shows every negative
``cpu.cfs_quota_us`` as -1.
"""

from __future__ import annotations

import math
import sys

from cgroup_engine.model.limits import DEFAULT_PERIOD_US, CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.knobs.knob import PlainKnob, Setting, changed_files
from cgroup_engine.tree.layout import Controller

_MAX_QUOTA_US = (1 << 44) - 1  # the kernel refuses more


class V1Shares(PlainKnob):
    field: Field = "shares"
    controller: Controller = "cpu"
    files: tuple[str, ...] = ("cpu.shares",)
    default: Setting = ("1024",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.shares is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return None if limits.shares is None else (str(limits.shares),)

    def unit(self) -> str:
        return "shares"


class V2Weight(V1Shares):
    files: tuple[str, ...] = ("cpu.weight",)
    default: Setting = ("100",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.weight is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return None if limits.weight is None else (str(limits.weight),)

    def unit(self) -> str:
        return "weight"


class V1Quota(PlainKnob):
    """cpu.cfs_quota_us and cpu.cfs_period_us; -1 is no quota.

    The kernel refuses a quota/period of a cgroup over that of its nearest limited ancestor, and below that of a
    limited descendant (tg_cfs_schedulable_down), after each of the two writes.
    """

    field: Field = "quota"
    controller: Controller = "cpu"
    files: tuple[str, ...] = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    default: Setting = ("-1", str(DEFAULT_PERIOD_US))

    def given(self, limits: CgroupLimits) -> bool:
        return limits.quota_us is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        quota = -1 if limits.quota_us is None else limits.quota_us
        return str(quota), str(limits.period_us or DEFAULT_PERIOD_US)

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted == found or (file == self.files[0] and wanted.startswith("-") and found.startswith("-"))

    def size(self, setting: Setting) -> float:
        quota, period = int(setting[0]), int(setting[1])
        # the kernel compares floor(quota << 20 / period) in integers
        return math.inf if quota < 0 else (quota << 20) // period

    def writes(self, old: Setting, new: Setting, below: float = math.inf, above: float = 0.0) -> list[tuple[str, str]]:
        """As ``Knob.writes``; ``below``: the greatest size of a descendant, ``above``: that of the nearest limited
        ancestor, if they are known.

        If period and quota both change, a third quota may have to stand while the period changes. Candidates are the
        old and the new quota, each of them converted to the other period, and no quota. No quota is legal everywhere,
        and the limit is the ancestor's then. The candidate whose size stays nearest to the range of old and new wins.
        """
        quota_file, period_file = self.files
        (old_quota, old_period), (quota, period) = old, new
        if old_period == period or old_quota == quota:
            return changed_files(self.files, old, new)
        if int(quota) < 0:
            return [(quota_file, quota), (period_file, period)]
        if int(old_quota) < 0:
            return [(period_file, period), (quota_file, quota)]
        low, high = sorted((self.size(old), self.size(new)))

        def strays(passing: str) -> float:
            """The factor by which a quota leaves the range; infinite if the kernel refuses it."""
            sizes = [self.size((passing, each)) for each in (old_period, period)]
            if passing == "-1":
                return max(1.0, above / high) if above else sys.float_info.max
            if min(sizes) < min(low, below) or max(sizes) > max(high, above):
                return math.inf
            return max(1.0, max(sizes) / high, low / min(sizes))

        candidates = ["-1", old_quota, quota]
        for number, here, there in ((quota, period, old_period), (old_quota, old_period, period)):
            exact = int(number) * int(there)
            candidates += [str(exact // int(here)), str(-(-exact // int(here)))]
        least = min(int(old_quota), int(quota))  # the kernel refuses a quota below the burst, which neither is below
        usable = [each for each in candidates if each == "-1" or least <= int(each) <= _MAX_QUOTA_US]

        passing = min(usable, key=lambda each: (strays(each), each not in (old_quota, quota), each == "-1"))
        first = [(quota_file, passing)] if passing != old_quota else []
        last = [(quota_file, quota)] if passing != quota else []
        return [*first, (period_file, period), *last]

    def unit(self) -> str:
        return "µs"


V1_QUOTA = V1Quota()


class V2Quota(PlainKnob):
    """cpu.max, "QUOTA PERIOD" in µs. One write sets both, and the kernel compares neither with the parent."""

    field: Field = "quota"
    controller: Controller = "cpu"
    files: tuple[str, ...] = ("cpu.max",)
    default: Setting = (f"max {DEFAULT_PERIOD_US}",)

    def given(self, limits: CgroupLimits) -> bool:
        return limits.quota_us is not None

    def setting(self, limits: CgroupLimits) -> Setting | None:
        quota = "max" if limits.quota_us is None or limits.quota_us < 0 else limits.quota_us
        return (f"{quota} {limits.period_us or DEFAULT_PERIOD_US}",)

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted.split() == found.split()

    def size(self, setting: Setting) -> float:
        quota, period = setting[0].split()
        return math.inf if quota == "max" else (int(quota) << 20) // int(period)

    def unit(self) -> str:
        return "µs per µs"
