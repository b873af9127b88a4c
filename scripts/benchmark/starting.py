"""The start of commands: ``--help``, and a plan of three pods, beside Python with what every such command imports.

All are whole processes, one after the other in each round, and what counts is the CPU time of each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import interruption
from .cpu_time import cpu_seconds
from .planning import NODE, empty_root, pod_list
from .spread import spread

BARE = "python -c 'import yaml, argparse'"
PASS = "python -c pass"
_PODS = 3
_ENGINE = "import sys; from cgroup_engine.cli import main; sys.exit(main(sys.argv[1:]))"
_FAKE = "import sys; from fakecgroup_mount.cli import main; sys.exit(main())"


def measure(rounds: int, directory: Path) -> dict[str, Any]:
    """For each command: ms of CPU time, and their ratios to the two bare processes round by round.

    :raises BenchmarkError: one of them failed.
    """
    file = directory / "pods.yaml"
    file.write_text("".join(pod_list(_PODS)))
    plan = ["plan", "--root", empty_root(directory), *NODE, str(file)]
    commands = {
        PASS: ("pass", []),
        BARE: ("import yaml, argparse", []),
        "cgroup-engine --help": (_ENGINE, ["--help"]),
        f"cgroup-engine plan of {_PODS} pods": (_ENGINE, plan),
        "fakecgroup --help": (_FAKE, ["--help"]),
    }
    for command in commands.values():
        cpu_seconds(*command)  # compiles what changed since the last time
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(1000 * cpu_seconds(*command))
            interruption.check()
    return {
        "run": {"rounds": rounds},
        "starts": {
            name: {
                "cpu_ms": spread(found),
                "ratio": spread([here / bare for here, bare in zip(found, times[BARE], strict=True)]),
                "to_pass": spread([here / bare for here, bare in zip(found, times[PASS], strict=True)]),
            }
            for name, found in times.items()
        },
    }


def table(result: dict[str, Any]) -> str:
    """A row for each command: median ms, and the ratio's median, minimum and maximum."""
    width = max(map(len, result["starts"]))
    lines = [f"{'':{width}}  {'CPU ms':>7}  ratio  (min–max)"]
    for name, figures in result["starts"].items():
        ratio = figures["ratio"]
        lines.append(
            f"{name:{width}}  {figures['cpu_ms']['median']:7.1f}  {ratio['median']:5.2f}  "
            f"({ratio['min']:.2f}–{ratio['max']:.2f})"
        )
    return "\n".join([*lines, "", f"{result['run']['rounds']} rounds; CPU time of whole processes"])
