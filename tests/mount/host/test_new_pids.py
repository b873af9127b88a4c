"""New tasks are among the pids that were given out since the last look."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from fakecgroup_mount.host.new_pids import NewPids


class Given(NewPids):
    """Pids that a test gives out itself, below 1,000."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.newest = last
        self.listed = 0
        self._max = 1000
        self.start()

    def _newest(self) -> int:
        return self.newest

    def _list(self, now: float) -> set[int]:
        self.listed += 1
        self._listed = now
        return {1}


@pytest.fixture
def real() -> Iterator[NewPids]:
    numbers = NewPids()
    numbers.start()
    yield numbers


def test_a_new_process_is_among_them(real: NewPids) -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        found, _ = real.take()
        process.kill()
    assert process.pid in found


def test_an_older_process_is_not(real: NewPids) -> None:
    real.take()
    found, complete = real.take()
    assert os.getpid() not in found or not complete


def test_they_come_as_they_were_given_out_also_where_numbers_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakecgroup_mount.host.new_pids._pid_max", lambda: 1000)
    numbers = Given(997)
    numbers.newest = 3
    found, _ = numbers.take()
    assert found == [998, 999, 1, 2, 3]


def test_one_without_a_task_is_looked_at_again() -> None:
    numbers = Given(10)
    numbers.newest = 12
    numbers.take()
    numbers.put_back(11)
    assert (numbers.take()[0], numbers.take()[0]) == ([11], [11])


def test_one_that_stays_without_is_looked_at_once_more_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakecgroup_mount.host.new_pids._COMING", 0)
    numbers = Given(10)
    numbers.newest = 11
    numbers.take()
    numbers.put_back(11)
    again, _ = numbers.take()
    numbers.put_back(11)
    assert (again, numbers.take()[0]) == ([11], [])


def test_many_are_found_in_a_listing() -> None:
    numbers = Given(10)
    numbers._max = 100_000
    numbers.newest = 50_000
    assert (numbers.take(), numbers.listed) == (([1], False), 1)


def test_a_listing_follows_when_nothing_is_new_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakecgroup_mount.host.new_pids._LISTED", 0)
    numbers = Given(10)
    numbers.newest = 11
    numbers.take()
    before = numbers.listed
    numbers.take()
    numbers.take()
    assert (before, numbers.listed) == (0, 1)


def test_all_is_listed_when_every_number_may_have_been_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = Given(10)
    numbers._round = 0
    monkeypatch.setattr("fakecgroup_mount.host.new_pids._forks", lambda: numbers._forks + 1000)
    assert numbers.take() == ([1], False)
