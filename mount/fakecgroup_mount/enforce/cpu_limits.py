"""CPU time of real processes: who has used up a quota, or is ahead of his share, is held (cpu.max, cpu.weight)."""

from __future__ import annotations

import os
import threading
import time
from time import clock_gettime_ns

from fakecgroup import Kernel
from fakecgroup_mount.enforce.competition import Competition
from fakecgroup_mount.enforce.cpu_groups import CpuGroups, account
from fakecgroup_mount.enforce.cpu_pressure import count_stalls
from fakecgroup_mount.enforce.holds import Holding
from fakecgroup_mount.enforce.runner import Limited, Runner

_SECOND = 1_000_000_000
_SOON, _SELDOM, _RARELY = 20_000_000, 40_000_000, 100_000_000  # ns between two looks at all, the longer nobody runs
_FIRST = 10_000_000  # ns until a new process of a group with a quota is looked at
_LONG = 2_000_000_000  # ns that nobody has run
_TOGETHER = 5_000_000  # ns: looks that are due so soon are made now
_SPARING = 200  # times the CPU time of a look at all until the next
_AGAIN = 2_000_000  # ns until the next look at one that did not run when it was to be held; then twice that
_WHY = "cpu"
_RAN = 5_000_000  # ns that nobody runs on after he was stopped: somebody has sent SIGCONT, or another thread runs


class CpuLimits:
    """Looks at the processes of `kernel`'s cgroups. `lock` is the model's. `spared` pids are never held."""

    def __init__(
        self, kernel: Kernel, holding: Holding, lock: threading.Lock, spared: frozenset[int] = frozenset()
    ) -> None:
        self._holding = holding
        self._lock = lock
        self._groups = CpuGroups(kernel, len(os.sched_getaffinity(0)), spared)
        self._competition = Competition()
        unified = kernel.hierarchies[-1]  # v1's cgroups have no pressure files
        self._pressure = unified if unified.dfl else None
        self._evading: dict[Runner, int] = {}  # they are to be held and did not run: when they are looked at again
        self._changed: dict[Runner, None] = {}  # they may have to be held, or let go
        self._all_due = 0
        self._ran = 0  # somebody

    @property
    def idle(self) -> bool:
        """There is no process in a group."""
        return not self._groups.runners

    def gather(self) -> None:
        """Takes groups and processes as they are now. The caller holds the lock."""
        known = self._groups.runners
        for gone in self._groups.gather():
            self._let_go(gone)
            self._evading.pop(gone, None)
            self._competition.forget(gone)
        for tgid, runner in self._groups.runners.items():
            if not runner.waits:
                self._let_go(runner)
            if runner.limited and tgid not in known:  # it may have ended before the next look
                self._all_due = min(self._all_due, time.monotonic_ns() + _FIRST)

    def release(self) -> None:
        """Lets everybody go on. The caller holds the lock."""
        for runner in self._groups.runners.values():
            self._let_go(runner)
        for one in self._groups.limited.values():
            one.quota.group.throttled = False
        self._evading = {}

    # -- looks, without the lock ---------------------------------------------------------------------------

    def look(self) -> float:
        """Looks at what is due, holds and lets go. Returns the seconds until the next look."""
        now = time.monotonic_ns()
        competition = self._competition
        soon = now + _TOGETHER
        competes = competition.due is not None and competition.due <= soon
        measures = competition.measure_due <= soon
        if self._all_due <= soon or measures:
            self._look_at_all(now)
        else:
            self._look_at_due(now, competes)
        for one in self._groups.limited.values():
            if (one.due is not None and one.due <= now) or (one.due is None and one.used):
                self._settle(one, now)
        if competes:
            competition.look(now)
        if measures:
            self._measure(now)
        if competes or measures:
            self._changed.update((one, None) for one in competition.members if one.waits != bool(one.held))
        self._hold_and_let_go(now)
        settled = self._holding.settle()
        times = [one.due for one in self._groups.limited.values() if one.due is not None]
        times += [self._all_due if settled else now + _AGAIN, competition.measure_due, *self._evading.values()]
        if competition.due is not None:
            times.append(competition.due)
        return max(0, min(times) - time.monotonic_ns()) / _SECOND

    def _look_at_all(self, now: int) -> None:
        began = time.thread_time_ns()
        lively = False
        for runner in self._groups.runners.values():
            runner.lively = self._read(runner)
            if runner.lively:
                lively = True
        self._count_gone()
        lively = lively or any(one.quota.group.active for one in self._groups.limited.values())
        if lively:
            self._ran = now
        pause = _SOON if lively else _SELDOM if now - self._ran < _LONG else _RARELY
        self._all_due = time.monotonic_ns() + max(pause, _SPARING * (time.thread_time_ns() - began))

    def _count_gone(self) -> None:
        """Counts what processes have used that came and went since the last look in groups in which nobody runs."""
        for one in self._groups.limited.values():
            if not one.quota.group.active and one.corrections != self._groups.changes:
                one.used = max(0, one.used + self._missed(one))

    def _look_at_due(self, now: int, competes: bool) -> None:
        due = {
            runner: None
            for one in self._groups.limited.values()
            if one.due is not None and one.due <= now
            for runner in one.runners
            if not runner.held and (runner.lively or one.ends_by(now))
        }
        if competes:
            due.update((runner, None) for runner in self._competition.members if not runner.held)
        for runner in [runner for runner, at in self._evading.items() if at <= now]:
            del self._evading[runner]
            due[runner] = None
        for runner in due:
            self._read(runner)

    def _read(self, runner: Runner) -> bool:
        """Counts what a process has used since it was last read. Returns whether it ran."""
        try:
            clock = clock_gettime_ns(runner.clock_id)
        except OSError:
            self._groups.changes += 1  # it is gone
            return False
        if clock <= runner.clock:
            return False
        used, runner.clock = clock - runner.clock, clock
        runner.contestant.used += used
        for one in runner.limited:
            one.used += used
            one.counted += used
        if used > _RAN if runner.held else runner.waits:
            self._changed[runner] = None
        return True

    def _measure(self, now: int) -> None:
        stirred = [runner for runner in self._groups.runners.values() if runner.stirred]
        passed, measured = self._competition.measure(stirred, now)
        if self._pressure is not None and measured:
            with self._lock:
                count_stalls(self._pressure, measured, passed)

    def _settle(self, one: Limited, now: int) -> None:
        quota, group = one.quota, one.quota.group
        if one.ends_by(now) and one.corrections != self._groups.changes:
            quota.correct(self._missed(one))
        halted = quota.use(now, one.used)
        one.used = 0
        if halted:
            self._groups.count_halted(one, halted)
        if group.throttled or halted:
            self._changed.update(
                (runner, None)
                for runner in one.runners
                if (runner.lively or runner.held) and bool(runner.held) != group.throttled
            )
        left = quota.next_look(now)
        one.due = None if left is None else now + left

    def _missed(self, one: Limited) -> int:
        """ns that processes have used that have exited between two looks; negative after too many."""
        one.corrections = self._groups.changes
        with self._lock:
            accounted = account(one.css.cgroup) - one.accounted
        missed = accounted - one.counted - one.corrected
        one.corrected += missed
        return missed

    # -- holding -------------------------------------------------------------------------------------------

    def _hold_and_let_go(self, now: int) -> None:
        changed, self._changed = self._changed, {}
        if not changed:
            return
        with self._holding.guard:
            for runner in changed:
                if runner.waits:
                    self._hold(runner, now)
                else:
                    self._let_go(runner)
        for one in {one for runner in changed for one in runner.limited if one.quota.group.throttled}:
            one.quota.hold(sum(runner.held for runner in one.runners))

    def _hold(self, runner: Runner, now: int) -> None:
        if runner.contestant.spared:
            return
        runner.now_held(self._holding.hold(runner.tgid, runner.start, _WHY), now)
        runner.evades = 0 if runner.held else min(max(_AGAIN, 2 * runner.evades), _SOON)
        if runner.evades:
            self._evading[runner] = now + runner.evades

    def _let_go(self, runner: Runner) -> None:
        if runner.held:
            runner.now_held(0, time.monotonic_ns())
            self._holding.let_go(runner.tgid, _WHY)
