"""The state that the cpu controller keeps per cgroup (kernel/sched/sched.h, struct task_group)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.css import Css

if TYPE_CHECKING:
    from ...effects.bandwidth import Group

USEC = 1000  # ns
RUNTIME_INF = (1 << 64) - 1  # ns: no limit, of a quota and of a real-time runtime
SHARES_DEFAULT = 1024
PERIOD_DEFAULT = 100_000 * USEC  # ns
RT_PERIOD_DEFAULT = 1_000_000 * USEC  # ns
CLAMP_MAX = 10_000  # hundredths of a percent


class Cpu(Css):
    """One css serves both versions: weight and nice (v2) are other faces of shares (v1)."""

    shares: int = SHARES_DEFAULT
    idle: bool = False
    quota: int = RUNTIME_INF  # ns per period
    period: int = PERIOD_DEFAULT  # ns
    burst: int = 0  # ns
    rt_period: int = RT_PERIOD_DEFAULT  # ns
    rt_runtime: int | None = None  # ns; None: never written
    throttling: Group | None = None  # what its quota did to simulated processes
    uclamp_min: int = 0  # hundredths of a percent
    uclamp_max: int = CLAMP_MAX

    def ancestors(self) -> Iterator[Cpu]:
        """From the parent up to the root."""
        css = self.parent
        while isinstance(css, Cpu):
            yield css
            css = css.parent

    def children(self) -> Iterator[Cpu]:
        """The cpu css of each child cgroup, oldest first."""
        for child in self.cgroup.children.values():
            css = child.csses.get("cpu")
            if isinstance(css, Cpu):
                yield css
