"""The peak memory of ``cgroup-engine`` with the pods of a cluster, beside a bare ``json.load`` of the same pods.

The files are as ``kubectl get pods -A`` writes them. Each figure is VmHWM of a process of its own, and what counts is
what it has more than a Python that does nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from . import interruption, planning
from .cluster import cluster
from .errors import BenchmarkError

_PEAK = """
import atexit, sys
def told():
    status = open("/proc/self/status").read()
    print(status.split("VmHWM:")[1].split()[0], file=sys.stderr)
atexit.register(told)
"""
_LOAD = f"{_PEAK}import json; json.load(open(sys.argv[1]))"
_ENGINE = f"{_PEAK}from cgroup_engine.cli import main; sys.exit(main(sys.argv[1:]))"
_FORMS: tuple[Literal["json", "yaml"], ...] = ("json", "yaml")


def measure(counts: Sequence[int], directory: Path) -> dict[str, Any]:
    """For each number of pods: MiB of each command with each form of the file, and its ratio to json.load.

    :raises BenchmarkError: a command failed.
    """
    root = planning.empty_root(directory)
    nothing = _peak(_PEAK, [])
    result: dict[str, Any] = {}
    for count in counts:
        files = {form: directory / f"{count}.{form}" for form in _FORMS}
        for form, file in files.items():
            with file.open("w") as written:
                written.writelines(cluster(count, form))
            interruption.check()
        load = _peak(_LOAD, [str(files["json"])])
        figures: dict[str, Any] = {}
        for command in (["plan", "--root", root], ["status", "--root", root], ["explain"]):
            for form, file in files.items():
                peak = _peak(_ENGINE, [*command, *planning.NODE, "-o", "json", str(file)])
                ratio = round((peak - nothing) / max(1, load - nothing), 3)
                figures[f"{command[0]} {form}"] = {"mib": peak >> 10, "ratio": ratio}
                interruption.check()
        result[str(count)] = {
            "bytes": {form: file.stat().st_size for form, file in files.items()},
            "load_mib": load >> 10,
            "commands": figures,
        }
        for file in files.values():
            file.unlink()
    return {"python_mib": nothing >> 10, "pods": result}


def table(result: dict[str, Any]) -> str:
    """A row for each number of pods, command and form of the file."""
    lines = [f"{'pods':>7}  {'of':<12}  {'file MB':>8}  {'json.load MiB':>13}  {'peak MiB':>8}  ratio"]
    for count, figures in result["pods"].items():
        for what, figure in figures["commands"].items():
            size = figures["bytes"][what.split()[1]] / 1e6
            lines.append(
                f"{count:>7}  {what:<12}  {size:8.1f}  {figures['load_mib']:>13}  {figure['mib']:>8}  "
                f"{figure['ratio']:5.2f}"
            )
    return "\n".join([*lines, "", f"a ratio leaves out the {result['python_mib']} MiB of a Python that does nothing"])


def _peak(program: str, arguments: Sequence[str]) -> int:
    """KiB of a process at its most."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ, text=True)
    if done.returncode != 0:
        raise BenchmarkError(f"{arguments[0]} failed: {done.stderr.strip()[-200:]}")
    return int(done.stderr.split()[-1])
