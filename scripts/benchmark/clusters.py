"""``cgroup-engine fleet`` of a whole cluster, beside ``json.load`` of the same dump."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import interruption
from .errors import BenchmarkError
from .spread import spread
from .whole_cluster import cluster

PODS_OF_NODE = 30
_VERSION = "1.37"
_BESIDE = "json.load"
_LOAD = "import json, sys; json.load(open(sys.argv[1]))"
_FLEET = "import sys; from cgroup_engine.cli import main; sys.exit(main(sys.argv[1:]))"
_FOUND = 1  # the exit status where something was found


def measure(nodes: int, rounds: int, directory: Path) -> dict[str, Any]:
    """Seconds and MiB of each way to look at the cluster, and its ratio to json.load round by round.

    :raises BenchmarkError: one of them failed.
    """
    dump = directory / "dump.json"
    with dump.open("w") as file:
        file.writelines(cluster(nodes, PODS_OF_NODE))
    asked = ["fleet", str(dump), "--diff-kubelet-version", _VERSION, "-o", "json", "--workers"]
    ways = {_BESIDE: [_LOAD, str(dump)], **{f"--workers {n}": [_FLEET, *asked, str(n)] for n in (1, 2)}}
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, command in ways.items():
            found[way].append(_run(command))
            interruption.check()
    loads = [seconds for seconds, _ in found[_BESIDE]]
    pods = nodes * PODS_OF_NODE
    return {
        "run": {"nodes": nodes, "pods": pods, "bytes": dump.stat().st_size, "rounds": rounds},
        "ways": {
            way: {
                "seconds": spread([seconds for seconds, _ in figures]),
                "pods_per_second": None if way == _BESIDE else round(pods / min(seconds for seconds, _ in figures)),
                "peak_mib": round(max(peak for _, peak in figures)),
                "ratio": spread([seconds / load for (seconds, _), load in zip(figures, loads, strict=True)]),
            }
            for way, figures in found.items()
        },
    }


def table(result: dict[str, Any]) -> str:
    """A row for each way: median seconds, pods per second at best (not of json.load, which looks at none), the peak in
    MiB, and the ratio's spread.
    """
    lines = [f"{'':12}  {'s':>7}  {'pods/s':>7}  {'MiB':>6}  ratio  (min–max)"]
    for way, figures in result["ways"].items():
        seconds, ratio, rate = figures["seconds"]["median"], figures["ratio"], figures["pods_per_second"]
        lines.append(
            f"{way:12}  {seconds:7.1f}  {'' if rate is None else format(rate, ','):>7}  {figures['peak_mib']:6,}  "
            f"{ratio['median']:5.2f}  ({ratio['min']:.2f}–{ratio['max']:.2f})"
        )
    run = result["run"]
    lines += ["", f"{run['nodes']:,} nodes, {run['pods']:,} pods, {run['bytes'] / 1e6:,.0f} MB; {run['rounds']} rounds"]
    return "\n".join(lines)


def _run(command: Sequence[str]) -> tuple[float, float]:
    """Seconds by the clock, and MiB of memory at most, of the process itself."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, _FOUND):
        raise BenchmarkError(f"{' '.join(command[1:2]) or _BESIDE} exits with {process.returncode}")
    return time.monotonic() - began, usage.ru_maxrss / 1024
