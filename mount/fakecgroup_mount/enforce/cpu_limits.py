"""cpu.max, and v1's cpu.cfs_quota_us, of real processes: who has used up a period's quota is held until the next."""

from __future__ import annotations

import os
import threading
import time
from contextlib import nullcontext

from fakecgroup import Kernel
from fakecgroup.controllers.cpu.css import RUNTIME_INF, Cpu
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.effects.bandwidth import Group
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.enforce.holds import Holds, SignalHolds
from fakecgroup_mount.enforce.quota import Quota
from fakecgroup_mount.enforce.runner import Limited, Runner
from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.traced_holds import TracedHolds, may_trace
from fakecgroup_mount.host.usage import cpu_clock, stat_of

_SECOND = 1_000_000_000
_INIT = 1
_PARENT = 1  # in the result of `stat_of`
_SOON, _SELDOM = 20_000_000, 100_000_000  # ns between two looks at all: while somebody runs, and while nobody does
_SPARING = 200  # times the duration of a look at all until the next
_AGAIN = 2_000_000  # ns until the next look at one that did not run when it was to be held
_FOR_DEBUGGER = 1_000_000_000  # ns for a debugger to begin
_RAN = 5_000_000  # ns that nobody runs on after he was stopped: somebody has sent SIGCONT, or another thread runs


class CpuLimits:
    """Looks at the processes of `kernel`'s cgroups with a quota. `lock` is the model's.

    `spared` are pids that are never held, beside init, this process and its children.
    """

    def __init__(
        self, kernel: Kernel, processes: HostProcesses, lock: threading.Lock, spared: frozenset[int] = frozenset()
    ) -> None:
        traces = may_trace()
        self._holds: Holds = TracedHolds() if traces else SignalHolds(processes)
        self._guard = nullcontext() if traces else lock  # for `_holds`; seizing a thread may wait for its execve(2)
        self._lock = lock
        self._spared = {_INIT, os.getpid(), *spared}
        self._hierarchy = next((one for one in kernel.hierarchies if "cpu" in one.controllers), None)
        self._cpus = len(os.sched_getaffinity(0))
        self._runners: dict[int, Runner] = {}
        self._limited: dict[Cpu, Limited] = {}
        self._evading: dict[Runner, int] = {}  # they are to be held and did not run: when they are looked at again
        self._debugged: dict[int, int] = {}  # who is about to be traced, and until when (ns)
        self._all_due = 0
        self._pause = _SOON
        self._changes = 0  # of processes
        self.idle = True
        """No cgroup has a quota."""

    # -- who is where, with the lock held ------------------------------------------------------------------

    def gather(self) -> None:
        """Takes quotas and processes as they are now. The caller holds the lock."""
        if self._hierarchy is None:
            return
        self._changes += 1
        runners, limited = self._runners, self._limited
        self._runners, self._limited = {}, {}
        self._hierarchy.membership.adopt_forked()
        self._gather_below(self._hierarchy.root, [], runners, limited)
        for gone in runners.values():
            self._let_go(gone)
        for one in limited.values():
            one.quota.group.throttled = False
        for runner in self._runners.values():
            if not runner.waits:
                self._let_go(runner)
        self._evading = {one: at for one, at in self._evading.items() if self._runners.get(one.tgid) is one}
        self.idle = not self._limited

    def _gather_below(
        self, cgroup: Cgroup, above: list[Limited], runners: dict[int, Runner], limited: dict[Cpu, Limited]
    ) -> None:
        for child in cgroup.children.values():
            css = child.csses.get("cpu")
            here = above
            if isinstance(css, Cpu) and css.quota != RUNTIME_INF:
                one = limited.pop(css, None) or self._begin(css)
                if one is not None:
                    self._limited[css] = one
                    if one.quota.limit(css.quota, css.period, css.burst):
                        one.due = 0
                    one.runners = []
                    here = [*above, one]
            if here:
                for tid, tgid in child.tasks.items():
                    if tid == tgid and not is_simulated(tgid):
                        self._take(tgid, here, runners)
            self._gather_below(child, here, runners, limited)

    def _begin(self, css: Cpu) -> Limited | None:
        """None where simulated processes have used the quota: theirs is another time."""
        if css.throttling is not None and css.throttling.runners:
            return None
        css.throttling = css.throttling or Group(cpus=self._cpus)
        one = Limited(css, Quota(css.throttling, self._cpus))
        one.accounted = self._account(css.cgroup)
        return one

    def _take(self, tgid: int, limited: list[Limited], runners: dict[int, Runner]) -> None:
        runner = runners.pop(tgid, None)
        if runner is None:
            stat, clock = stat_of(tgid), cpu_clock(tgid)
            if not stat or clock is None:
                return
            spared = tgid in self._spared or int(stat[_PARENT]) == os.getpid()
            runner = Runner(tgid, stat[tasks.START], clock, spared)
        runner.limited = limited
        for one in limited:
            one.runners.append(runner)
        self._runners[tgid] = runner

    @staticmethod
    def _account(cgroup: Cgroup) -> int:
        """ns that processes have used in a cgroup, those included that have exited."""
        cgroup.hierarchy.membership.count_cpu(cgroup)
        return sum(time.run for time in cgroup.cpu.values())

    def release(self) -> None:
        """Lets everybody go on. The caller holds the lock."""
        for runner in self._runners.values():
            self._let_go(runner)
        for one in self._limited.values():
            one.quota.group.throttled = False
        self._evading = {}

    # -- looks, without the lock ---------------------------------------------------------------------------

    def look(self) -> float:
        """Looks at what is due, holds and lets go. Returns the seconds until the next look."""
        now = time.monotonic_ns()
        changed: dict[Runner, None] = {}
        if now >= self._all_due:
            self._look_at_all(now, changed)
        else:
            self._look_at_due(now, changed)
        for one in self._limited.values():
            if (one.due is not None and one.due <= now) or (one.due is None and one.used):
                self._settle(one, now, changed)
        if changed:
            with self._guard:
                for runner in changed:
                    self._hold_or_let_go(runner, now)
            for one in {one for runner in changed for one in runner.limited if one.quota.group.throttled}:
                one.quota.hold(sum(runner.held for runner in one.runners))
        settled = self._holds.settle()
        soonest = min(
            self._all_due if settled else now + _AGAIN,
            min((one.due for one in self._limited.values() if one.due is not None), default=self._all_due),
            min(self._evading.values(), default=self._all_due),
        )
        return max(0, soonest - time.monotonic_ns()) / _SECOND

    def _look_at_all(self, now: int, changed: dict[Runner, None]) -> None:
        lively = False
        for runner in self._runners.values():
            runner.lively = self._read(runner, changed)
            lively = lively or runner.lively
        self._pause = _SOON if lively else min(2 * self._pause, _SELDOM)
        took = time.monotonic_ns() - now
        self._all_due = now + took + max(self._pause, _SPARING * took)

    def _look_at_due(self, now: int, changed: dict[Runner, None]) -> None:
        due = {
            runner: None
            for one in self._limited.values()
            if one.due is not None and one.due <= now
            for runner in one.runners
            if runner.lively and not runner.held
        }
        for runner in [runner for runner, at in self._evading.items() if at <= now]:
            del self._evading[runner]
            due[runner] = None
        for runner in due:
            self._read(runner, changed)

    def _read(self, runner: Runner, changed: dict[Runner, None]) -> bool:
        """Counts what a process has used since it was last read. Returns whether it ran."""
        clock = cpu_clock(runner.tgid)
        if clock is None or clock <= runner.clock:
            if clock is None:
                self._changes += 1
            return False
        used, runner.clock = clock - runner.clock, clock
        for one in runner.limited:
            one.used += used
            one.ran.add(runner)
            one.counted += used
        if used > _RAN if runner.held else runner.waits:
            changed[runner] = None
        return True

    def _settle(self, one: Limited, now: int, changed: dict[Runner, None]) -> None:
        quota, group = one.quota, one.quota.group
        if group.active and group.boundary <= now and one.corrections != self._changes:
            quota.correct(self._missed(one))
        throttled = group.throttled
        quota.use(now, one.used, len(one.ran))
        one.used = 0
        one.ran.clear()
        if group.throttled or throttled:
            changed.update(
                (runner, None)
                for runner in one.runners
                if (runner.lively or runner.held) and bool(runner.held) != group.throttled
            )
        left = quota.next_look(now)
        one.due = None if left is None else now + left

    def _missed(self, one: Limited) -> int:
        """ns that processes have used that have exited between two looks; negative after too many."""
        one.corrections = self._changes
        with self._lock:
            accounted = self._account(one.css.cgroup) - one.accounted
        missed = accounted - one.counted - one.corrected
        one.corrected += missed
        return missed

    def spare(self, tgid: int) -> bool:
        """Lets a process go on that is about to be traced by another. Returns whether it does; if not, ask again."""
        now = time.monotonic_ns()
        self._debugged = {one: until for one, until in self._debugged.items() if until > now}
        self._debugged[tgid] = now + _FOR_DEBUGGER
        runner = self._runners.get(tgid)
        if runner is not None:
            with self._guard:
                self._let_go(runner)
        return self._holds.settle()

    # -- holding -------------------------------------------------------------------------------------------

    def _hold_or_let_go(self, runner: Runner, now: int) -> None:
        if not runner.waits:
            self._let_go(runner)
        elif not runner.spared and self._debugged.get(runner.tgid, 0) < now:
            runner.held = self._holds.hold(runner.tgid, runner.start)
            if not runner.held:
                self._evading[runner] = now + _AGAIN

    def _let_go(self, runner: Runner) -> None:
        if runner.held:
            runner.held = 0
            self._holds.let_go(runner.tgid)
