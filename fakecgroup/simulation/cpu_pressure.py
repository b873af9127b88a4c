"""Pressure on the CPU (kernel/sched/psi.c): how long tasks of a cgroup waited, from what they used and wanted."""

from __future__ import annotations

from ..named_tuple import NamedTuple


class Piece(NamedTuple):
    """What a process did in a piece of time: ns that its threads ran (`used`), ran or waited (`active`), waited, and
    the number of its threads.
    """

    used: float
    active: float
    waited: float
    threads: int


def piece(time: float, *, used: float, stopped: float, asked: bool, starved: bool, threads: int) -> Piece:
    """What a process did in `time` ns, in which it `asked` for a CPU, and got less than that if it was `starved`.

    It was throttled for `stopped` ns.
    """
    if not asked:
        return Piece(0.0, 0.0, 0.0, threads)
    if starved:
        active = threads * time
        return Piece(used, active, max(0.0, active - used), threads)
    return Piece(used, used + threads * stopped, threads * stopped, threads)


def stalled(active: int, waits: int, used: int, cpus: int) -> tuple[float, float]:
    """The shares of the time of `some` and of `full` in a cgroup, from 0 to 1, from sums over its processes.

    `active` is how many threads ran or waited, `used` how many CPUs ran them, `cpus` how many there are. `waits` is the
    sum of the shares in which each process's threads waited, weighted with its active threads. All are in one unit.
    Threads are taken to be on as many CPUs as there are. A CPU counts by the time in which it had work
    (collect_percpu_times).
    """
    if active <= 0:
        return 0.0, 0.0
    if active <= cpus:
        some = waits / active
        return some, some
    full = max(0.0, 1.0 - used / cpus)
    crowded = min(1.0, (active - cpus) / cpus)
    return crowded + (1 - crowded) * full, full
