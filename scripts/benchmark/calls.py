"""Calls that `fakecgroup run` traps: what each takes more than bare, beside supervisors in C that let it go.

Those are the floor: nobody who is asked by the kernel about a call can cost less (seccomp_unotify(2)).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import build, interruption
from .errors import UnavailableError
from .running import RUN, output
from .spread import spread

OPEN, FORK, LIMITED = "open that finds nothing", "fork", "fork under a pids.max"
BARE, LETS, READS, OURS = "bare", "a supervisor in C", "one that reads the path", "fakecgroup run"
_COUNT = 2000  # calls; their median is taken
_IN_CGROUP = """
cd /sys/fs/cgroup && echo +pids > cgroup.subtree_control && mkdir measured && echo $1 > measured/pids.max || exit 1
echo $$ > measured/cgroup.procs && shift && exec "$@"
"""
_MOST = "100000"  # pids.max; all the calls have room


def measure(rounds: int, directory: Path) -> dict[str, Any]:
    """For each call and way: µs of one, and how many more than bare in the same round. Without a C compiler nothing.

    Raises BenchmarkError, StoppedError.
    """
    try:
        program = str(build.compiled("calls", directory))
    except UnavailableError as reason:
        return {"run": {"rounds": 0, "calls": _COUNT}, "calls": {}, "missing": {"trapped calls": str(reason)}}
    opens, forks = [program, "open", str(_COUNT)], [program, "fork", str(_COUNT)]
    run = [*RUN, "--layout", "v2", "--"]
    commands: dict[str, dict[str, list[str]]] = {
        OPEN: {BARE: opens, LETS: [*opens, "let"], READS: [*opens, "read"], OURS: [*run, *opens]},
        FORK: {BARE: forks, LETS: [*forks, "let"], OURS: [*run, *forks]},
        LIMITED: {BARE: forks, OURS: [*run, "sh", "-c", _IN_CGROUP, "sh", _MOST, *forks]},
    }
    times: dict[str, dict[str, list[float]]] = {call: {way: [] for way in ways} for call, ways in commands.items()}
    for _ in range(rounds):
        for call, ways in commands.items():
            for way, command in ways.items():
                interruption.check()
                times[call][way].append(_us(command))
    return {
        "run": {"rounds": rounds, "calls": _COUNT},
        "calls": {
            call: {
                way: {
                    "us": spread(found, 1),
                    "more_us": spread([here - bare for here, bare in zip(found, ways[BARE], strict=True)], 1),
                }
                for way, found in ways.items()
            }
            for call, ways in times.items()
        },
        "missing": {},
    }


def _us(command: Sequence[str]) -> float:
    return int(output(command)) / 1000


def table(result: dict[str, Any]) -> str:
    """A row for each call and way."""
    width = max((len(way) for ways in result["calls"].values() for way in ways), default=0)
    lines = [f"{'':{width}}       µs   more  (min–max)"]
    for call, ways in result["calls"].items():
        lines.append(call)
        for way, figures in ways.items():
            more = figures["more_us"]
            shown = "" if way == BARE else f"  {more['median']:5.1f}  ({more['min']:.1f}–{more['max']:.1f})"
            lines.append(f"{way:{width}}  {figures['us']['median']:7.1f}{shown}")
    run = result["run"]
    lines += ["", f"{run['rounds']} rounds; each figure is the median of {run['calls']} calls"]
    lines += [f"no {name}: {reason}" for name, reason in result["missing"].items()]
    return "\n".join(lines)
