"""Groups that compete for CPUs: what each process would use is measured, and who is ahead of his share waits."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator

from fakecgroup_mount.enforce.cpu_pressure import Measured
from fakecgroup_mount.enforce.runner import Runner
from fakecgroup_mount.enforce.shares import Arena, arenas
from fakecgroup_mount.host import tasks

_MEASURE = 100_000_000  # ns between two measurements
_OFTEN, _SELDOM = 20_000_000, 40_000_000  # ns between two looks: while somebody waits, or soon may, and else
_SPARING = 100  # times the CPU time of a look or measurement until the next
_IDLES = 0.3  # of what it would use: who used less may sleep
_SLEEPS = 0.5  # of what it would use, if it sleeps


class Competition:
    """The processes that compete, by the CPUs that they compete for.

    `due` is the time (ns) of the next look, None while nobody competes; `measure_due` that of the next measurement.
    """

    def __init__(self) -> None:
        self.due: int | None = None
        self.measure_due = 0
        self._measured = time.monotonic_ns()
        self._looked = 0
        self._arenas: dict[frozenset[int], Arena] = {}
        self._members: dict[Arena, list[Runner]] = {}

    @property
    def members(self) -> Iterator[Runner]:
        """All that compete."""
        for members in self._members.values():
            yield from members

    def forget(self, runner: Runner) -> None:
        """A process is gone."""
        for members in self._members.values():
            if runner in members:
                members.remove(runner)

    def measure(self, runners: Collection[Runner], now: int) -> tuple[int, list[Measured]]:
        """Measures what processes have used and would use. Returns over which time (ns), and what each did."""
        began = time.thread_time_ns()
        passed, self._measured = now - self._measured, now
        pieces = {}
        for runner in runners:
            piece = runner.measure(now, passed)
            if piece is not None:
                try:
                    runner.contestant.cpus = frozenset(os.sched_getaffinity(runner.tgid))
                except OSError:
                    runner.contestant.demand = 0.0  # it is gone
                else:
                    pieces[runner] = piece
        known, self._arenas = self._arenas, {}
        before, self._members = set(self.members), {}
        by_contestant = {runner.contestant: runner for runner in pieces}
        for cpus, contestants in arenas(by_contestant):
            arena = self._arenas[cpus] = known.get(cpus) or Arena(cpus)
            members = [by_contestant[one] for one in contestants]
            arena.divide(contestants, sum(pieces[runner].used for runner in members) / passed)
            if arena.crowded:
                self._members[arena] = members
        compete = set(self.members)
        for runner in before - compete:
            runner.contestant.waits = False
        for runner in pieces.keys() - compete:
            runner.contestant.used = 0  # it is not owed to those who come later
        self.measure_due = time.monotonic_ns() + max(_MEASURE, _SPARING * (time.thread_time_ns() - began))
        self.due = now if self._members else None
        return passed, [Measured(one.tgid, piece, one.contestant.cpus) for one, piece in pieces.items()]

    def look(self, now: int) -> None:
        """Decides who waits, after the clocks of all that compete were read."""
        began = time.thread_time_ns()
        passed, self._looked = now - self._looked, now
        uneven = False
        for arena, members in self._members.items():
            if arena.uneven:
                self._look_for_sleepers(members, passed)
            arena.settle()
            arena.choose()
            uneven = uneven or arena.uneven
        pause = max(_OFTEN if uneven else _SELDOM, _SPARING * (time.thread_time_ns() - began))
        self.due = time.monotonic_ns() + pause

    @staticmethod
    def _look_for_sleepers(members: list[Runner], passed: int) -> None:
        """Expects less of those that have gone to sleep, so that nobody waits for them."""
        for runner in members:
            one = runner.contestant
            if (
                not runner.held
                and one.used < _IDLES * one.demand * passed
                and not tasks.running_threads(runner.tgid, runner.start)
            ):
                one.demand *= _SLEEPS
