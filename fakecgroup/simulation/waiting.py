"""Pressure on memory and io (kernel/sched/psi.c): how long tasks of a cgroup stalled, from who waits and who runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .process import Process


class Waiting(NamedTuple):
    """Of a process's threads, how many stall for the resource (`waiting`) and how many run or want to (`runnable`).

    Both are averages over a piece of time.
    """

    waiting: float
    runnable: float

    @classmethod
    def of(cls, process: Process, resource: str) -> Waiting:
        """What the threads of a process do. A process stalls with all its threads."""
        return cls(process.waits.get(resource, 0.0) * process.workload.threads, process.cpus)


def stalled_of(tasks: Iterable[Waiting], cpus: int) -> tuple[float, float]:
    """The shares of the time of `some` and of `full` in a cgroup, from 0 to 1.

    A CPU with a stalled task has `some`, and `full` if none of its tasks runs. Tasks are taken to be on as many CPUs as
    there are, one on each while there are no more. A CPU counts by the time in which it had work
    (collect_percpu_times).
    """
    waiting = runnable = 0.0
    for task in tasks:
        waiting += task.waiting
        runnable += task.runnable
    if waiting <= 0:
        return 0.0, 0.0
    busy = min(float(cpus), waiting + runnable)
    some = min(1.0, waiting / busy)
    return some, min(some, max(0.0, 1.0 - runnable / busy))
