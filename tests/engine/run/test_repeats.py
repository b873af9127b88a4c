"""Drift that comes again and again, with a clock that the test sets."""

from __future__ import annotations

import pytest

from cgroup_engine.run.events import Drift
from cgroup_engine.run.repeats import Repeated, Repeats

from .conftest import Clock


def _drift(path: str = "a", by: str = "") -> Drift:
    return Drift(path, "", "1", "2", by)


def test_the_first_at_a_path_is_new_and_then_none(clock: Clock) -> None:
    repeats = Repeats(clock)
    assert [repeats.is_new(_drift(path)) for path in "abaab"] == [True, True, False, False, False]


def test_without_a_repeat_nothing_is_told(clock: Clock) -> None:
    repeats = Repeats(clock)
    repeats.is_new(_drift())
    clock.now += 100
    assert (repeats.due(), repeats.rest()) == (None, None)


def test_the_count_is_told_after_twice_the_time_up_to_once_an_hour(clock: Clock) -> None:
    repeats = Repeats(clock)
    repeats.is_new(_drift())
    repeats.is_new(_drift())
    start, told = clock.now, []
    while clock.now < start + 20_000:
        if (repeated := repeats.due()) is not None:
            told.append(clock.now - start)
            assert repeated.count > 0
        clock.now += 1
        repeats.is_new(_drift())
    assert told == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 8720, 12320, 15920, 19520]


def test_the_path_with_most_is_named_with_who_was_seen_there_last(clock: Clock) -> None:
    repeats = Repeats(clock)
    for path in "abbb":
        repeats.is_new(_drift(path, "first"))
    clock.now += 5
    repeats.is_new(_drift("b", "last"))
    repeats.is_new(_drift("a"))
    clock.now += 5
    assert repeats.due() == Repeated(count=4, paths=2, seconds=10.0, path="b", most=3, by="last")
    assert repeats.rest() is None


def test_after_a_pause_the_times_begin_anew(clock: Clock) -> None:
    repeats = Repeats(clock)
    repeats.is_new(_drift())
    told = []
    for wait in (0, 10, 10, 500, 1000, 0, 10):
        clock.now += wait
        told.append(repeats.due() is not None)
        if wait < 500:
            repeats.is_new(_drift())
    assert told == [False, True, True, True, False, False, True]


def test_a_turn_that_comes_late_tells_once(clock: Clock) -> None:
    repeats = Repeats(clock)
    repeats.is_new(_drift())
    repeats.is_new(_drift())
    clock.now += 60
    assert repeats.due() is not None
    repeats.is_new(_drift())
    assert repeats.due() is None
    clock.now += 20  # the next time is 80 s after the first repeat
    assert repeats.due() is not None


def test_a_path_that_was_quiet_for_an_hour_is_new_again(clock: Clock) -> None:
    repeats = Repeats(clock)
    repeats.is_new(_drift())
    clock.now += 3599
    assert not repeats.is_new(_drift())
    clock.now += 3601
    assert repeats.is_new(_drift())


@pytest.mark.hostile("drift at more paths than memory should take")
def test_the_paths_that_are_remembered_are_bounded(clock: Clock) -> None:
    repeats = Repeats(clock)
    for number in range(20_000):
        assert repeats.is_new(_drift(str(number)))
    assert not repeats.is_new(_drift("19999"))
    assert repeats.is_new(_drift("0"))
