"""Where we may not trace, processes are held by SIGSTOP."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from fakecgroup_mount.enforce.holds import Holding, SignalHolds
from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.usage import stat_of

from ...waiting import wait_until


@pytest.fixture
def busy(processes: HostProcesses) -> Iterator[int]:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        processes.watch(process.pid)
        yield process.pid
        process.kill()


def start(pid: int) -> str:
    return stat_of(pid)[tasks.START]


def test_a_process_that_runs_is_stopped_until_it_is_let_go(processes: HostProcesses, busy: int) -> None:
    holds = SignalHolds(processes)
    wait_until(lambda: holds.hold(busy, start(busy)) == 1)
    wait_until(lambda: tasks.state(busy) == "T")
    holds.let_go(busy)
    wait_until(lambda: tasks.state(busy) == "R")


def test_one_that_sleeps_is_let_be(processes: HostProcesses) -> None:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        processes.watch(sleeper.pid)
        wait_until(lambda: tasks.state(sleeper.pid) == "S")
        held = SignalHolds(processes).hold(sleeper.pid, start(sleeper.pid))
        sleeper.kill()
        assert held == 0


def test_one_that_is_about_to_stop_gets_no_second_signal(
    processes: HostProcesses, busy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[int] = []
    monkeypatch.setattr(processes, "hold_again", again.append)
    holds = SignalHolds(processes)
    wait_until(lambda: holds.hold(busy, start(busy)) == 1)
    assert [holds.hold(busy, start(busy)) for _ in range(100)] == [1] * 100
    assert again == []


def test_one_that_somebody_has_continued_is_stopped_again(processes: HostProcesses, busy: int) -> None:
    holds = SignalHolds(processes)
    wait_until(lambda: holds.hold(busy, start(busy)) == 1)
    wait_until(lambda: tasks.state(busy) == "T")
    os.kill(busy, signal.SIGCONT)
    wait_until(lambda: holds.hold(busy, start(busy)) and tasks.state(busy) == "T")
    holds.let_go(busy)
    wait_until(lambda: tasks.state(busy) == "R")


def test_one_that_is_traced_is_let_be(processes: HostProcesses, busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "tracer_of", lambda tgid: 1)
    assert SignalHolds(processes).hold(busy, start(busy)) == 0


@pytest.fixture
def holding(processes: HostProcesses) -> Holding:
    return Holding(processes, threading.Lock())


def held(pid: int) -> bool:
    return tasks.state(pid) in ("t", "T")


def test_a_process_that_is_held_for_two_reasons_goes_on_when_none_is_left(holding: Holding, busy: int) -> None:
    for why in ("cpu", "memory"):
        wait_until(lambda why=why: holding.hold(busy, start(busy), why) == 1)  # type: ignore[misc]
    wait_until(lambda: held(busy))
    holding.let_go(busy, "cpu")
    wait_until(holding.settle)
    assert held(busy)
    holding.let_go(busy, "memory")
    wait_until(lambda: holding.settle() and tasks.state(busy) == "R")


def test_one_that_is_about_to_be_traced_by_another_goes_on_whatever_the_reasons(holding: Holding, busy: int) -> None:
    wait_until(lambda: holding.hold(busy, start(busy), "memory") == 1)
    holding.spare(busy)
    wait_until(lambda: holding.settle() and tasks.state(busy) == "R")
    assert holding.hold(busy, start(busy), "cpu") == 0
