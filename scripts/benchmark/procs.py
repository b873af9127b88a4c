"""Cgroups with many processes: reads of cgroup.procs beside those of cgroup.stat, and forks inside beside outside.

On the fake, and in a cgroup of its own of this machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from . import interruption
from .columns import host_root, native
from .errors import UnavailableError
from .own_cgroup import own_cgroup

_FORKS_PER_OPERATION = 50
_ROUND = 0.5  # seconds of reads
_PATIENCE = 60.0  # seconds until the processes have gone

# Moves itself, and forks as many as there are to be; they sleep until all are killed.
_SLEEPERS = """
import os, signal, sys, time
open(sys.argv[1], "w").write("0")
for _ in range(int(sys.argv[2]) - 1):
    if not os.fork():
        signal.pause()
print("ready", flush=True)
signal.pause()
"""

# Moves itself if it is told where, and says how long so many forks take, one after the other.
_FORKS = """
import os, sys, time
if sys.argv[1]:
    open(sys.argv[1], "w").write("0")
begin = time.perf_counter()
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
print(time.perf_counter() - begin)
"""


@contextmanager
def _host(directory: Path) -> Iterator[tuple[str, Path]]:
    root, kind, _, _ = host_root()
    yield f"this machine's {kind} at {root}, Linux {os.uname().release}", root


TREES: dict[str, Callable[[Path], Any]] = {"native": native, "host": _host}


def measure(counts: list[int], rounds: int, ops: int, directory: Path) -> dict[str, Any]:
    """For each tree: µs of a read of cgroup.procs and of cgroup.stat by how many processes there are, and seconds of
    many forks (50 for each of `ops`) in a cgroup and outside of one.
    """
    forked = ops * _FORKS_PER_OPERATION
    trees: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name, make in TREES.items():
        with ExitStack() as stack:
            try:
                what, root = stack.enter_context(make(directory))
                cgroup = stack.enter_context(own_cgroup(root))
            except UnavailableError as reason:
                missing[name] = str(reason)
                continue
            reads = {str(count): _reads(cgroup, count, rounds) for count in counts}
            both = [(_forks(cgroup, forked), _forks(None, forked)) for _ in range(rounds)]
            ratio = median(inside / outside for inside, outside in both)
            all_inside, all_outside = zip(*both, strict=True)
            forks = {"inside_s": round(median(all_inside), 3), "outside_s": round(median(all_outside), 3)}
            trees[name] = {"what": what, "reads": reads, "forks": {**forks, "ratio": round(ratio, 3)}}
    return {"run": {"processes": counts, "rounds": rounds, "forks": forked}, "trees": trees, "missing": missing}


def _reads(cgroup: Path, count: int, rounds: int) -> dict[str, Any]:
    """µs of a read, and how many reads of cgroup.procs take as long as one of cgroup.stat; v1 has no such file."""
    files = [file for file in ("cgroup.procs", "cgroup.stat") if (cgroup / file).exists()]
    times: dict[str, list[float]] = {file: [] for file in files}
    with _sleeping(cgroup, count):
        for file in files:
            _read(cgroup / file)
        for _ in range(rounds):
            for file in files:
                interruption.check()
                times[file].append(_rate(cgroup / file))
    found: dict[str, Any] = {file: round(median(values), 1) for file, values in times.items()}
    if len(files) == 2:
        procs, stat = times.values()
        found["ratio"] = round(median(there / here for here, there in zip(procs, stat, strict=True)), 3)
    return found


@contextmanager
def _sleeping(cgroup: Path, count: int) -> Iterator[None]:
    command = [sys.executable, "-IS", "-c", _SLEEPERS, str(cgroup / "cgroup.procs"), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as crowd:
        assert crowd.stdout is not None
        try:
            crowd.stdout.readline()
            yield
        finally:
            os.killpg(crowd.pid, signal.SIGKILL)
            crowd.wait()
            give_up = time.monotonic() + _PATIENCE
            while _read(cgroup / "cgroup.procs") and time.monotonic() < give_up:
                time.sleep(0.01)


def _rate(file: Path) -> float:
    """µs of a read, on average."""
    done, begin = 0, time.perf_counter()
    while (took := time.perf_counter() - begin) < _ROUND:
        _read(file)
        done += 1
    return took / done * 1e6


def _read(file: Path) -> bytes:
    with open(file, "rb", buffering=0) as opened:
        return opened.readall()


def _forks(cgroup: Path | None, count: int) -> float:
    interruption.check()
    place = "" if cgroup is None else str(cgroup / "cgroup.procs")
    command = [sys.executable, "-IS", "-c", _FORKS, place, str(count)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def table(result: dict[str, Any]) -> str:
    """A row for each tree and number of processes, then one for the forks of each tree."""
    lines = [f"{'':6}  {'processes':>9}  {'cgroup.procs µs':>15}  {'cgroup.stat µs':>14}  ratio"]
    for name, figures in result["trees"].items():
        for count, reads in figures["reads"].items():
            beside = f"{reads['cgroup.stat']:14.1f}  {reads['ratio']:5.2f}" if "ratio" in reads else f"{'-':>14}"
            lines.append(f"{name:6}  {count:>9}  {reads['cgroup.procs']:15.1f}  {beside}")
    lines += ["", f"{'':6}  {'forks':>9}  {'inside s':>15}  {'outside s':>14}  ratio"]
    for name, figures in result["trees"].items():
        forks, count = figures["forks"], result["run"]["forks"]
        lines.append(
            f"{name:6}  {count:>9}  {forks['inside_s']:15.3f}  {forks['outside_s']:14.3f}  {forks['ratio']:5.2f}"
        )
    lines += ["", f"medians of {result['run']['rounds']} rounds"]
    lines += [f"{name}: {tree['what']}" for name, tree in result["trees"].items()]
    lines += [f"no {name}: {reason}" for name, reason in result["missing"].items()]
    return "\n".join(lines)
