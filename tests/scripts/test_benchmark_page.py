"""The page of benchmarks says what was recorded; no figure is judged."""

from __future__ import annotations

import pytest

from benchmark import page
from benchmark.cli import main
from benchmark.page import Figure

SPREAD = {"min": 0.5, "median": 0.7, "max": 0.9}


def recording(**parts: object) -> page.Recording:
    return {"minutes": 3, "machine": "2 CPUs", "parts": parts}


def test_the_page_is_what_the_recording_says() -> None:
    assert main(["--page", "check"]) == 0


def test_a_page_that_is_not_is_told_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path_factory.mktemp("docs") / "benchmarks.md"
    old.write_text("# Benchmarks\n")
    monkeypatch.setattr(page, "PAGE", old)
    assert main(["--page", "check"]) == 1
    assert capsys.readouterr().err == (
        "bench: benchmarks.md is not what the recording says: run scripts/bench --page text\n"
    )


def test_a_figure_stands_with_its_spread_and_its_goal() -> None:
    part = {"operations": {"mkdir": {"native": {"ratio": SPREAD}, "null": {"ratio": SPREAD}}}}
    assert "| mkdir, native | 0.70 | 0.50–0.90 | ≥ 0.6 |" in page.text(recording(operations=part))


@pytest.mark.parametrize(
    ("goal", "least", "reached"), [(None, False, True), (0.6, True, True), (0.8, True, False), (0.6, False, False)]
)
def test_a_goal_is_reached_from_one_side(goal: float | None, least: bool, reached: bool) -> None:
    assert Figure("", SPREAD, goal, least=least).reached is reached


def test_what_could_not_be_measured_is_told() -> None:
    part = {"starts_ms": {"unshare -Urm true": SPREAD}, "compile": {}, "missing": {"a kernel": "no QEMU"}}
    assert "Not measured: a kernel: no QEMU." in page.text(recording(run=part))


def test_a_start_that_takes_too_long_says_where_its_time_goes() -> None:
    slow, start = {"min": 99.0, "median": 100.0, "max": 101.0}, "fakecgroup run -- true"
    part = {
        "starts_ms": {"unshare -Urm true": SPREAD, start: slow},
        "profile_ms": {start: {"python": SPREAD, "modules": slow, "rest": SPREAD}},
        "modules": {start: 250},
        "compile": {},
    }
    assert f"{start}`: 1 ms are Python's own start, 100 ms go into loading 250 modules" in page.text(
        recording(run=part)
    )


def test_a_slow_operation_says_how_much_of_it_is_python() -> None:
    part = {"operations": {"mkdir": {"native": {"ratio": {**SPREAD, "median": 0.5}}}}, "python": {"mkdir": 48}}
    assert "mkdir, native: 48 % of the CPU time is Python" in page.text(recording(operations=part))


def test_the_share_of_python_stands_beside_each_operation() -> None:
    part = {"operations": {"stat": {"native": {"ratio": {**SPREAD, "median": 2}}}}, "python": {"stat": 23}}
    assert "| stat, Python in the daemon, of the CPU time | 23.0 % |" in page.text(recording(operations=part))


def test_a_slow_call_stands_beside_the_least_that_it_can_take() -> None:
    def more(us: float) -> dict[str, object]:
        return {"more_us": {"min": us, "median": us, "max": us}}

    floors = {"bare": more(0), "a supervisor in C": more(5)}
    part = {
        "calls": {
            "open that finds nothing": {**floors, "one that reads the path": more(7), "fakecgroup run": more(11)},
            "fork": {**floors, "fakecgroup run": more(14)},
            "fork under a pids.max": {"bare": more(0), "fakecgroup run": more(19)},
        }
    }
    text = page.text(recording(calls=part))
    assert "| open that finds nothing, fakecgroup run | 11.0 µs | 11.0–11.0 | ≤ 8 µs |" in text
    assert "| fork under a pids.max, fakecgroup run | 19.0 µs | 19.0–19.0 | ≤ 20 µs |" in text
    assert "open that finds nothing, fakecgroup run: the least is 5.0 µs for an open, 7.0 if its path is read" in text


def test_calls_that_could_not_be_measured_are_told() -> None:
    part = {"calls": {}, "missing": {"trapped calls": "no C compiler"}}
    assert "Not measured: trapped calls: no C compiler." in page.text(recording(calls=part))
