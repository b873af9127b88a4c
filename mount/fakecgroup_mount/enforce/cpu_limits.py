"""cpu.max, and v1's cpu.cfs_quota_us, of real processes: SIGSTOP when a period's quota is used up, then SIGCONT."""

from __future__ import annotations

import logging
import os
import threading
import time

from fakecgroup import Kernel
from fakecgroup.controllers.cpu.css import RUNTIME_INF, Cpu
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.effects.bandwidth import Group
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.enforce.quota import Quota
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.tasks import parent_and_tracer
from fakecgroup_mount.host.usage import cpu_clock

log = logging.getLogger(__name__)

_SECOND = 1_000_000_000
_LONGEST = 0.1  # seconds between two looks
_RAN = 5_000_000  # ns that nobody runs on after SIGSTOP: somebody has sent SIGCONT


class _Limited:
    """A cgroup with a quota, and its processes: the CPU time of each at the last look, and who is stopped for it."""

    def __init__(self, css: Cpu, quota: Quota) -> None:
        self.css = css
        self.quota = quota
        self.run: dict[int, int] = {}
        self.held: set[int] = set()
        self.due = 0  # monotonic ns
        self.counted = 0  # ns, by looks
        self.accounted = 0  # ns by the cgroup's account when looks began
        self.corrected = 0  # ns of their difference


class CpuLimits:
    """Looks at the processes of `kernel`'s cgroups with a quota. `lock` is the model's.

    `spared` are pids that are never stopped, beside this process and its children.
    """

    def __init__(
        self, kernel: Kernel, processes: HostProcesses, lock: threading.Lock, spared: frozenset[int] = frozenset()
    ) -> None:
        self._processes = processes
        self._lock = lock
        self._spared = {os.getpid(), *spared}
        self._limited: dict[Cpu, _Limited] = {}
        self._cpus = len(os.sched_getaffinity(0))
        self.idle = True
        """No cgroup has a quota."""
        self._hierarchies: list[Hierarchy] = [one for one in kernel.hierarchies if "cpu" in one.controllers]

    # -- who is where, with the lock held ------------------------------------------------------------------

    def gather(self) -> None:
        """Takes quotas and processes as they are now. The caller holds the lock."""
        known, self._limited = self._limited, {}
        for hierarchy in self._hierarchies:
            hierarchy.membership.adopt_forked()
            for cgroup in hierarchy.root.descendants():
                css = cgroup.csses.get("cpu")
                if isinstance(css, Cpu) and css.quota != RUNTIME_INF:
                    one = known.pop(css, None) or self._begin(css)
                    if one is not None:
                        self._limited[css] = one
                        self._take(one, cgroup)
        for one in known.values():
            self._let_go(one, set(one.held))
            one.quota.group.throttled = False
        self.idle = not self._limited

    def _begin(self, css: Cpu) -> _Limited | None:
        """None where simulated processes have used the quota: theirs is another time."""
        if css.throttling is not None and css.throttling.runners:
            return None
        css.throttling = css.throttling or Group(cpus=self._cpus)
        one = _Limited(css, Quota(css.throttling, self._cpus))
        one.accounted = self._account(css.cgroup)
        return one

    def _take(self, one: _Limited, cgroup: Cgroup) -> None:
        css, quota = one.css, one.quota
        quota.limit(css.quota, css.period, css.burst)
        members = {tgid for tgid in cgroup.processes() if not is_simulated(tgid)}
        for tgid in one.run.keys() - members:
            del one.run[tgid]
        for tgid in members - one.run.keys():
            clock = cpu_clock(tgid)
            if clock is not None:
                one.run[tgid] = clock
        self._let_go(one, one.held - members)
        one.due = 0
        if quota.group.throttled:
            self._hold(one)
        else:
            self._let_go(one, set(one.held))

    @staticmethod
    def _account(cgroup: Cgroup) -> int:
        """ns that processes have used in a cgroup, those included that have exited."""
        cgroup.hierarchy.membership.count_cpu(cgroup)
        return sum(time.run for time in cgroup.cpu.values())

    def _hold(self, one: _Limited) -> None:
        for tgid in one.run.keys() - one.held:
            parent, tracer = parent_and_tracer(tgid)
            if tgid not in self._spared and parent != os.getpid() and not tracer:  # a tracer would see the signal
                one.held.add(tgid)
                self._processes.hold(tgid, one)

    def _let_go(self, one: _Limited, tgids: set[int]) -> None:
        for tgid in tgids:
            self._processes.let_go(tgid, one)
        one.held -= tgids

    def release(self) -> None:
        """Lets everybody go on. The caller holds the lock."""
        for one in self._limited.values():
            self._let_go(one, set(one.held))
            one.quota.group.throttled = False

    # -- looks, without the lock ---------------------------------------------------------------------------

    def look(self) -> float:
        """Looks at what is due, stops and continues. Returns the seconds until the next look."""
        for one in self._limited.values():
            if one.due <= time.monotonic_ns():
                self._look_at(one)
        soonest = min((one.due for one in self._limited.values()), default=None)
        return _LONGEST if soonest is None else max(0.0, (soonest - time.monotonic_ns()) / _SECOND)

    def _look_at(self, one: _Limited) -> None:
        quota, group = one.quota, one.quota.group
        used = busy = 0
        astray = []
        for tgid, before in one.run.items():
            clock = cpu_clock(tgid)
            if clock is not None and clock > before:
                one.run[tgid] = clock
                used += clock - before
                busy += 1
                if group.throttled and clock - before > _RAN:
                    astray.append(tgid)
        one.counted += used
        now = time.monotonic_ns()
        if group.active and group.boundary <= now:
            quota.correct(self._missed(one))
        quota.use(now, used, busy)
        if group.throttled and (one.run.keys() - one.held or astray):
            with self._lock:
                self._hold(one)
                for tgid in astray:
                    self._processes.hold_again(tgid)
                    self._processes.hold(tgid, one)
        elif one.held and not group.throttled:
            with self._lock:
                self._let_go(one, set(one.held))
        one.due = now + quota.next_look(now)

    def _missed(self, one: _Limited) -> int:
        """ns that processes have used that have exited between two looks; negative after too many."""
        with self._lock:
            accounted = self._account(one.css.cgroup) - one.accounted
        missed = accounted - one.counted - one.corrected
        one.corrected += missed
        return missed
