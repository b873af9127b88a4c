"""Calls on a tree that is traced, beside the same calls on one that is not, in turn and on one CPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import interruption, measured_cgroup
from .columns import Bench, Column, mounting
from .errors import BenchmarkError
from .operations import OPERATIONS
from .spread import spread

_OPTIONS = (
    *("--layout", measured_cgroup.LAYOUT, "--kernel", measured_cgroup.KERNEL),
    *("--cpus", str(measured_cgroup.CPUS), "--memory", str(measured_cgroup.MEMORY)),
)
_WARM_UP = 100  # calls


def measure(calls: int, rounds: int, directory: Path) -> dict[str, Any]:
    """µs of a call on both trees, and their ratio round by round; each round makes so many calls on each.

    Raises BenchmarkError, StoppedError.
    """
    bench = Bench(directory)
    file = directory / "trace.jsonl"
    each = max(1, calls // len(OPERATIONS))
    times: dict[str, list[tuple[float, float]]] = {operation: [] for operation in OPERATIONS}
    with (
        _tree(bench, "plain", ()) as plain,
        _tree(bench, "traced", ("--trace", str(file), "--trace-limit", "4Gi")) as traced,
    ):
        for column in (plain, traced):
            for operation in OPERATIONS:
                column.client.measure(operation, _WARM_UP)
        for number in range(rounds):
            order = (plain, traced) if number % 2 else (traced, plain)
            for operation in OPERATIONS:
                interruption.check()
                us = {column.what: column.client.measure(operation, each) / 1000 / each for column in order}
                times[operation].append((us[plain.what], us[traced.what]))
    whole = [(sum(found[n][0] for found in times.values()), sum(found[n][1] for found in times.values()))
             for n in range(rounds)]  # fmt: skip
    lines = file.read_text().splitlines()
    lost = sum(one["result"] for one in map(json.loads, lines) if one["op"] == "lost")
    if json.loads(lines[-1])["op"] != "end":
        raise BenchmarkError("the trace has no end")
    return {
        "run": {"calls": each * len(OPERATIONS), "rounds": rounds},
        "operations": {operation: _figures(found) for operation, found in times.items()},
        "all": _figures(whole),
        "trace": {"lines": len(lines), "bytes": file.stat().st_size, "lost": lost},
    }


@contextmanager
def _tree(bench: Bench, name: str, options: tuple[str, ...]) -> Iterator[Column]:
    at = bench.directory / name
    with (
        mounting(at, [*_OPTIONS, *options]),
        bench.operating(measured_cgroup.made_in(at), measured_cgroup.FILE, measured_cgroup.VALUE, name) as column,
    ):
        yield column


def _figures(found: list[tuple[float, float]]) -> dict[str, Any]:
    return {
        "plain_us": spread([plain for plain, _ in found]),
        "traced_us": spread([traced for _, traced in found]),
        "ratio": spread([traced / plain for plain, traced in found]),
    }


def table(result: dict[str, Any]) -> str:
    """A row for each operation, and one for all together."""
    lines = [f"{'operation':16}  {'plain µs':>9}  {'traced µs':>9}  ratio  (min–max)"]
    for operation, figures in {**result["operations"], "all": result["all"]}.items():
        ratio = figures["ratio"]
        lines.append(
            f"{OPERATIONS.get(operation, operation):16}  {figures['plain_us']['median']:9.1f}  "
            f"{figures['traced_us']['median']:9.1f}  {ratio['median']:5.2f}  ({ratio['min']:.2f}–{ratio['max']:.2f})"
        )
    run, trace = result["run"], result["trace"]
    lines += [
        "",
        f"{run['calls']:,} calls on each tree in each of {run['rounds']} rounds, on one CPU; "
        f"{trace['lines']:,} lines, {trace['bytes'] / 1e6:.0f} MB, {trace['lost']:,} calls lost",
    ]
    return "\n".join(lines)
