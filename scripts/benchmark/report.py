"""The figures as a document for JSON, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from .columns import NATIVE, NULL
from .operation_goals import bound_of, goal_of
from .operations import NOTHING, OPERATIONS, Times
from .spread import spread


def document(
    times: Times,
    operations: Sequence[str],
    columns: dict[str, tuple[str, int]],
    missing: dict[str, str],
    python: dict[str, float],
    **run: Any,
) -> dict[str, Any]:
    """All there is to say. Times are µs per operation, ratios operations per second to those of the null column.

    `columns` gives (what it is, entries of the listed directory), `missing` the reason for each that is not there,
    `python` the percent of an operation that are Python (`python_share`).
    """
    return {
        "run": run,
        "columns": {
            name: {"what": what, "entries": entries, "client_us": spread(times[NOTHING, name], 2)}
            for name, (what, entries) in columns.items()
        },
        "missing": missing,
        "operations": {
            operation: {name: _figures(times, operation, name) for name in columns} for operation in operations
        },
        "python": python,
    }


def _figures(times: Times, operation: str, name: str) -> dict[str, Any]:
    here, null = times[operation, name], times.get((operation, NULL))
    ratios = None if null is None else spread([there / mine for there, mine in zip(null, here, strict=True)], 3)
    return {"us": spread(here, 2), "per_second": round(1e6 / median(here)), "ratio": ratios}


def table(result: dict[str, Any]) -> str:
    """A row for each operation: per column the median µs, and the ratio's median, minimum and maximum. Native's goal
    is the last.
    """
    columns = result["columns"]
    compared = NULL in columns
    aims = compared and NATIVE in columns
    rows = [
        ["", *columns, *(["native's"] if aims else [])],
        ["µs per operation", *(_heading(name, compared) for name in columns), *(["goal"] if aims else [])],
    ]
    for operation, figures in result["operations"].items():
        goal = [f"≥ {goal_of(operation):g}{' missed' * _is_missed(operation, figures)}"] if aims else []
        rows.append([OPERATIONS[operation], *(_cell(name, figures[name], compared) for name in columns), *goal])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    run = result["run"]
    loop = max(column["client_us"]["median"] for column in columns.values())
    lines += [
        "",
        f"{run['rounds']} rounds of {run['ops']} operations each, all on CPU {run['cpu']}; {run['machine']}",
        *(f"{name}: {column['what']}; {column['entries']} entries listed" for name, column in columns.items()),
        f"The client's own loop is in the figures, with at most {loop:.2f} µs per operation.",
        *_shares(result["python"]),
        *(_missed(result) if aims else []),
        *(f"no {name}: {reason}" for name, reason in result["missing"].items()),
    ]
    return "\n".join(lines)


def _shares(python: dict[str, float]) -> list[str]:
    """A line on how much is Python; none if it was not measured."""
    shown = ", ".join(f"{operation} {percent:.0f} %" for operation, percent in python.items())
    return [f"of the CPU time of client and daemon, Python in the daemon of native is: {shown}"] if shown else []


def _is_missed(operation: str, figures: dict[str, Any]) -> bool:
    return bool(figures[NATIVE]["ratio"]["median"] < goal_of(operation))


def _missed(result: dict[str, Any]) -> list[str]:
    """A line for each goal that is missed, with what bounds it if that was measured."""
    missed = [name for name, figures in result["operations"].items() if _is_missed(name, figures)]
    return [
        f"native misses its goal at {OPERATIONS[name]}: {bound_of(result['python'][name])}"
        for name in missed
        if name in result["python"]
    ]


def _heading(name: str, compared: bool) -> str:
    return "µs" if name == NULL or not compared else f"{'µs':>7}  ratio  (min–max)"


def _cell(name: str, figures: dict[str, Any], compared: bool) -> str:
    us = f"{figures['us']['median']:7.2f}"
    if name == NULL or not compared:
        return us
    ratio = figures["ratio"]
    return f"{us}  {ratio['median']:5.2f}  ({ratio['min']:.2f}–{ratio['max']:.2f})"
