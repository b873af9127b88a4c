"""Pressure on memory and io (kernel/sched/psi.c): how long tasks of a cgroup stalled, from who waits and who runs."""

from __future__ import annotations


def stalled_of(waiting: float, weighted: float, active: float, cpus: int) -> tuple[float, float]:
    """The shares of the time of `some` and of `full` in a cgroup, from 0 to 1.

    `waiting` tasks stall for the resource on the average, `weighted` is the same with each task by the part of the time
    in which it stalls or is active, and `active` ones run or wait for a CPU. A CPU with a stalled
    task has `some`, and `full` if none of its tasks is active. Tasks are taken to be on as many CPUs as there are, one
    on each while there are no more. A CPU counts by the time in which it had work (collect_percpu_times).
    """
    if waiting <= 0:
        return 0.0, 0.0
    busy = min(float(cpus), waiting + active)
    some = min(1.0, (weighted if busy < cpus else waiting) / busy)
    return some, min(some, max(0.0, 1.0 - active / busy))
