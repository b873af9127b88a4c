"""What limits on real processes cost: the CPU time of a daemon that enforces them, beside one that does not.

The processes are in ten cgroups, each with a quota and a limit of memory. First they sleep, then they are busy: the
quotas are half of the CPUs together. A compile job under `fakecgroup run` is in a cgroup whose limits it does not
reach.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fakecgroup_mount.fuse.about import DAEMON_XATTR

from . import interruption
from .columns import mounting
from .idling import spent
from .running import COMPILES, RUN, compile_job, output, spread

LISTS = ("none", "memory", "cpu", "all")
"""What is enforced; the first is what the others are compared with."""
KINDS = {"sleep": ("sleep", "3600"), "are busy": ("nice", "sh", "-c", "while :; do :; done")}
_GROUPS = 10
_PERIOD = 100_000  # µs
_INTO = """
cd /sys/fs/cgroup && echo +cpu +memory >cgroup.subtree_control && mkdir job && echo max >job/memory.max &&
echo $((100000 * $(nproc))) 100000 >job/cpu.max && echo 4G >job/memory.max && echo 0 >job/cgroup.procs && exec "$@"
"""


def measure(count: int, seconds: float, rounds: int, directory: Path) -> dict[str, Any]:
    """CPU time of the daemon for `count` processes in percent of a CPU, and its ratio to one that enforces nothing; of
    the compile job the CPU time beside the same job in a cgroup without limits that act.
    """
    daemons: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    for limits in LISTS:
        with _tree(directory / limits, limits) as tree:
            for kind, command in KINDS.items():
                daemons[kind][limits] = _daemon(tree, command, count, seconds)
    for figures in daemons.values():
        for figure in figures.values():
            bare = figures[LISTS[0]]["percent"]
            figure["ratio"] = round(figure["percent"] / bare, 2) if bare else None
    return {
        "run": {"processes": count, "seconds": seconds, "cpus": _cpus(), "rounds": rounds, "compiles": COMPILES},
        "daemon": daemons,
        "compile": _compile(rounds, directory) if rounds else {},
    }


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


@contextmanager
def _tree(at: Path, limits: str) -> Iterator[Path]:
    with mounting(at, ("--enforce", limits)):
        (at / "cgroup.subtree_control").write_text("+cpu +memory")
        for number in range(_GROUPS):
            group = at / str(number)
            group.mkdir()
            (group / "cpu.max").write_text(f"{_cpus() * _PERIOD // _GROUPS // 2} {_PERIOD}")
            (group / "memory.max").write_text("1G")
        yield at


def _daemon(tree: Path, command: Sequence[str], count: int, seconds: float) -> dict[str, Any]:
    with ExitStack() as stack:
        for number in range(count):
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.kill)
            (tree / str(number % _GROUPS) / "cgroup.procs").write_text(str(process.pid))
        (found,) = spent([int(os.getxattr(tree, DAEMON_XATTR))], seconds)
    return {"percent": round(found["cpu_ms"] / seconds / 10, 3), "wakes": round(found["wakes"] / seconds)}


def _compile(rounds: int, directory: Path) -> dict[str, Any]:
    job = ("sh", "-c", _INTO, "sh", *compile_job(directory))
    times: dict[str, list[tuple[float, float]]] = {limits: [] for limits in LISTS}
    for turn in range(rounds):
        for limits in (*LISTS[turn % len(LISTS) :], *LISTS[: turn % len(LISTS)]):
            clock, used = output((*RUN, "--enforce", limits, "--", *job)).split()
            times[limits].append((float(clock), float(used)))
            interruption.check()
    return {
        limits: {
            kind: spread([here[at] / bare[at] for here, bare in zip(pairs, times[LISTS[0]], strict=True)], 3)
            for at, kind in enumerate(("clock", "cpu"))
        }
        for limits, pairs in times.items()
    }


def table(result: dict[str, Any]) -> str:
    """A row for each list of limits, with the daemon's cost for sleeping and busy processes, and that of the job."""
    lines = [f"{'--enforce':10}" + "".join(f"  {f'{kind}: % of a CPU':>24}  to none" for kind in KINDS)]
    for limits in LISTS:
        cells = [figures[limits] for figures in result["daemon"].values()]
        shown = "".join(f"  {cell['percent']:24.2f}  {_shown(cell['ratio'], 7, 2)}" for cell in cells)
        lines.append(f"{limits:10}{shown}")
    if result["compile"]:
        lines += ["", f"{'--enforce':10}  job by the clock  (min–max)        CPU time  (min–max)"]
    for limits, figures in result["compile"].items():
        cells = [
            f"{ratio['median']:{width}.3f}  ({ratio['min']:.3f}–{ratio['max']:.3f})"
            for ratio, width in zip(figures.values(), (16, 8), strict=True)
        ]
        lines.append(f"{limits:10}  {'  '.join(cells)}")
    run = result["run"]
    lines += [
        "",
        f"{run['processes']} processes for {run['seconds']:g} s on {run['cpus']} CPUs; {run['rounds']} rounds of "
        f"{run['compiles']} runs of the C compiler",
    ]
    return "\n".join(lines)


def _shown(ratio: float | None, width: int, digits: int) -> str:
    return " " * width if ratio is None else f"{ratio:{width}.{digits}f}"
