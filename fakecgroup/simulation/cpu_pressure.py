"""Pressure on the CPU (kernel/sched/psi.c): how long tasks of a cgroup waited, from what they used and wanted."""

from __future__ import annotations

from typing import NamedTuple


class Piece(NamedTuple):
    """What a process did in a piece of time: ns that its threads ran (`used`), ran or waited (`active`), waited, and
    the number of its threads.
    """

    used: float
    active: float
    waited: float
    threads: int


def piece(time: float, *, used: float, stopped: float, demand: float, rate: float, threads: int) -> Piece:
    """What a process did in `time` ns at a rate, with a demand, both in CPUs, and `stopped` ns throttled."""
    if demand <= 0:
        return Piece(0.0, 0.0, 0.0, threads)
    if rate + 1e-9 < demand:
        active = threads * time
        return Piece(used, active, max(0.0, active - used), threads)
    return Piece(used, used + threads * stopped, threads * stopped, threads)


def stalled(time: float, pieces: list[Piece], cpus: int) -> tuple[float, float]:
    """ns of `some` and of `full` in a cgroup, from the pieces of its processes.

    Its threads are taken to be on as many CPUs as there are. A CPU counts by the time in which it had work
    (collect_percpu_times).
    """
    active = sum(its.active for its in pieces)
    if active <= 0:
        return 0.0, 0.0
    runnable = active / time
    if runnable <= cpus:
        some = sum(its.waited * its.active / its.threads for its in pieces) / active
        return some, some
    full = max(0.0, time - sum(its.used for its in pieces) / cpus)
    crowded = min(1.0, (runnable - cpus) / cpus)
    return crowded * time + (1 - crowded) * full, full
