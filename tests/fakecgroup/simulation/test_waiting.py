"""Pressure of tasks that stall for memory or io, from who waits and who runs."""

from __future__ import annotations

import pytest

from fakecgroup.simulation.process import Process
from fakecgroup.simulation.waiting import stalled_of
from fakecgroup.simulation.workload import Workload


def test_a_task_that_is_alone_and_stalls_is_full_pressure() -> None:
    assert stalled_of(1, 1, 0, cpus=4) == (1, 1)


def test_idle_cpus_do_not_count() -> None:
    assert stalled_of(0.5, 0.5, 0.5, cpus=4) == (0.5, 0.5)


def test_a_task_that_runs_elsewhere_halves_the_pressure() -> None:
    """Each is on a CPU of its own, and both CPUs have work all the time."""
    assert stalled_of(1, 1, 1, cpus=2) == (0.5, 0.5)


def test_on_one_cpu_a_task_that_runs_ends_full_but_not_some() -> None:
    assert stalled_of(1, 1, 1, cpus=1) == (1, 0)


def test_a_stalled_process_is_not_runnable() -> None:
    process = Process(7, Workload([{"for": "10s", "cpu": 2}]), 0, number=0)
    process.waits["memory"] = 0.25
    assert process.cpus == pytest.approx(1.5)
