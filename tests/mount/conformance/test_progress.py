"""The progress of a comparison, on a terminal."""

from __future__ import annotations

import io

import pytest

from fakecgroup_mount.conformance.progress import Progress


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(clock: Clock, seconds: float, number: int, of: int) -> str:
    stream = Terminal()
    progress = Progress(stream, clock)
    clock.now += seconds
    progress(number, of)
    return stream.getvalue().removeprefix("\r").removesuffix("\033[K")


def test_the_time_so_far_tells_the_time_to_go(clock: Clock) -> None:
    assert shown(clock, 20.0, 101, 300) == "101/300 cases, 40 s to go"


def test_a_long_time_is_in_minutes(clock: Clock) -> None:
    assert shown(clock, 60.0, 11, 110) == "11/110 cases, 10 min to go"


def test_at_the_beginning_there_is_no_time_to_tell(clock: Clock) -> None:
    assert shown(clock, 0.2, 5, 110) == "5/110 cases"


def test_the_last_case_takes_the_line_away(clock: Clock) -> None:
    assert shown(clock, 20.0, 300, 300) == ""


def test_a_file_gets_nothing(clock: Clock) -> None:
    stream = io.StringIO()
    Progress(stream, clock)(2, 3)
    assert stream.getvalue() == ""
