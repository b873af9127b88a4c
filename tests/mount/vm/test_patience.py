"""How long a machine counts as silent on a busy host."""

from __future__ import annotations

import os

import pytest

from fakecgroup_mount.vm import patience
from fakecgroup_mount.vm.patience import Silence


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands; its only element is the time."""
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    return clock


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What each thread has waited for a CPU, in ns."""
    found = {"7": 5_000_000_000}
    monkeypatch.setattr(patience, "_waited", lambda threads: dict(found))
    return found


@pytest.mark.usefixtures("waited")
def test_silence_is_the_time_since_the_last_sign_of_life(now: list[float]) -> None:
    silence = Silence(os.getpid())
    now[0] += 30
    silence.ends()
    now[0] += 10
    assert silence.seconds() == 10


def test_time_in_which_the_machine_waited_for_a_cpu_does_not_count(now: list[float], waited: dict[str, int]) -> None:
    silence = Silence(os.getpid())
    now[0] += 60
    waited["7"] += 55_000_000_000
    waited["8"] = 1_000_000_000
    assert silence.seconds() == 5


def test_a_host_that_does_not_count_it_has_waited_for_nothing(now: list[float]) -> None:
    silence = Silence(0)
    now[0] += 60
    assert silence.seconds() == 60
