"""How long the outcome of a call is waited for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakecgroup_mount.calls import continued_call
from fakecgroup_mount.calls.continued_call import wait_for_outcome

from ...waiting import wait_until

OTHER = 99999  # the number of no system call
SLEEPS = ("35", "230", "101", "115")  # nanosleep and clock_nanosleep on x86-64, then on arm64


@pytest.fixture
def started() -> Iterator[Callable[..., int]]:
    """Starts a process; it is ended with the test."""
    processes = []

    def start(*command: str) -> int:
        processes.append(subprocess.Popen(command))
        return processes[-1].pid

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def sleeper(started: Callable[..., int]) -> tuple[int, int]:
    """A process that is in a system call, and the call's number."""
    pid = started("sleep", "300")

    def waits() -> str:
        number = Path(f"/proc/{pid}/syscall").read_text().split()[0]
        return number if number in SLEEPS else ""

    return pid, int(wait_until(waits))


def looks_of(tid: int, number: int, *, is_over: bool = False) -> int:
    """How often an outcome that never comes is looked for."""
    looks: list[int] = []

    def has_come() -> bool:
        looks.append(tid)
        return False

    wait_for_outcome(tid, number, has_come, lambda: is_over)
    return len(looks)


def test_an_outcome_that_comes_late_is_waited_for(sleeper: tuple[int, int]) -> None:
    looks = iter([False] * 20 + [True])
    wait_for_outcome(*sleeper, lambda: next(looks), lambda: False)
    assert list(looks) == []


def test_an_outcome_is_looked_for_once_more_when_the_thread_has_left_the_call(sleeper: tuple[int, int]) -> None:
    assert looks_of(sleeper[0], OTHER) == 1


def test_a_thread_that_calls_again_has_left_the_call(sleeper: tuple[int, int]) -> None:
    assert looks_of(*sleeper, is_over=True) == 1


def test_a_thread_that_runs_for_long_has_left_the_call(
    started: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continued_call, "_PATIENCE", 1000)
    assert looks_of(started(sys.executable, "-S", "-c", "while True: pass"), OTHER) > 0
