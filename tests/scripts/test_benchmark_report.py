"""The table of scripts/bench."""

from __future__ import annotations

from typing import Any

from benchmark.report import table


def result(ratio: float, *columns: str) -> dict[str, Any]:
    spread = {"min": ratio, "median": ratio, "max": ratio}
    figures = {name: {"us": spread, "per_second": 1, "ratio": spread} for name in columns}
    return {
        "run": {"rounds": 1, "ops": 1, "cpu": 0, "machine": "a machine"},
        "columns": {name: {"what": "a tree", "entries": 1, "client_us": spread} for name in columns},
        "missing": {},
        "operations": {"mkdir": figures},
        "python": {"mkdir": 47.0},
    }


def test_a_goal_stands_beside_what_is_reached() -> None:
    lines = table(result(0.7, "null", "native")).splitlines()
    assert lines[2].endswith("≥ 0.6")
    assert not any("misses" in line for line in lines)


def test_a_goal_that_is_missed_says_what_bounds_it() -> None:
    lines = table(result(0.5, "null", "native")).splitlines()
    assert lines[2].endswith("≥ 0.6 missed")
    assert lines[-1].startswith("native misses its goal at mkdir: 47 % of the CPU time is Python")


def test_without_the_two_that_are_compared_there_is_no_goal() -> None:
    for columns in (("null", "model"), ("native", "model")):
        assert "goal" not in table(result(0.5, *columns))
