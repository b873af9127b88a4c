"""How exactly limits act on real processes under `fakecgroup run --enforce`, beside what the limit says.

Quotas of busy processes, weights of three that compete for one CPU, and how far a process gets over memory.max.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from . import interruption
from .running import RUN, output
from .spread import spread

QUOTAS = (20, 50, 150)
"""Percent of a CPU."""
COUNTS = (1, 4)
WEIGHTS = (100, 300, 600)
PAGES = {"4 KiB": ("MAP_PRIVATE", 15), "huge": ("MAP_PRIVATE", 14), "shared": ("MAP_SHARED", 15)}
"""Pages of the process that grows: how they are mapped, and MADV_NOHUGEPAGE or MADV_HUGEPAGE."""
SOON, LITTLE = 50, 16
"""ms until a process is dead, and MiB over the limit, that are wanted at most."""
_BUSY = """
import json, os, signal, sys, time
seconds, limits = float(sys.argv[1]), json.loads(sys.argv[2])
os.chdir("/sys/fs/cgroup")
open("cgroup.subtree_control", "w").write("+cpu")
pinned = len(limits) > 1
if pinned: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
children = []
for name, (file, value, count) in limits.items():
    os.mkdir(name)
    open(f"{name}/{file}", "w").write(value)
    for _ in range(count):
        children.append(os.fork())
        if not children[-1]:
            open(f"{name}/cgroup.procs", "w").write("0")
            while True: pass
def stat(name):
    return {key: int(value) for key, value in map(str.split, open(f"{name}/cpu.stat"))}
time.sleep(1)
began, before = time.monotonic(), {name: stat(name) for name in limits}
time.sleep(seconds)
passed, after = time.monotonic() - began, {name: stat(name) for name in limits}
for child in children: os.kill(child, signal.SIGKILL)
grown = {name: {key: after[name][key] - before[name][key] for key in after[name]} for name in limits}
print(json.dumps({"passed": passed, "grown": grown}))
"""
_GROWS = """
import json, mmap, os, sys, time
limit, most, step = 64 << 20, 300 << 20, 256 << 10
os.chdir("/sys/fs/cgroup")
open("cgroup.subtree_control", "w").write("+memory")
os.mkdir("a")
open("a/memory.max", "w").write(str(limit))
told = memoryview(mmap.mmap(-1, 4096)).cast("q")
child = os.fork()
if not child:
    open("a/cgroup.procs", "w").write("0")
    memory = mmap.mmap(-1, most, flags=getattr(mmap, sys.argv[1]) | mmap.MAP_ANONYMOUS)
    memory.madvise(int(sys.argv[2]))
    for at in range(0, most, step):
        for page in range(at, at + step, 4096): memory[page] = 1
        told[0] = at + step
        if at + step > limit and not told[1]: told[1] = time.monotonic_ns()
    os._exit(0)
status = os.waitpid(child, 0)[1]
dead = time.monotonic_ns()
print(json.dumps({"killed": os.WIFSIGNALED(status), "ms": (dead - (told[1] or dead)) / 1e6,
    "mib": max(0, told[0] - limit) / (1 << 20)}))
"""


def measure(seconds: float, rounds: int) -> dict[str, Any]:
    """CPU time as a ratio to what a quota or weight gives; MiB over memory.max and ms until the parent sees the end."""
    cpu = {str(quota): {str(count): _quota(quota, count, seconds) for count in COUNTS} for quota in QUOTAS}
    return {
        "run": {"seconds": seconds, "rounds": rounds, "cpus": _cpus(), "load": round(os.getloadavg()[0], 2)},
        "cpu": cpu,
        "weights": _weights(seconds),
        "memory": {pages: _memory(mapped, advice, rounds) for pages, (mapped, advice) in PAGES.items()},
    }


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _run(limits: str, program: str, *arguments: str) -> dict[str, Any]:
    interruption.check()
    found: dict[str, Any] = json.loads(
        output((*RUN, "--enforce", limits, "--", sys.executable, "-S", "-c", program, *arguments))
    )
    return found


def _quota(percent: int, count: int, seconds: float) -> dict[str, Any]:
    found = _run("cpu", _BUSY, str(seconds), json.dumps({"a": ("cpu.max", f"{percent * 1000} 100000", count)}))
    grown = found["grown"]["a"]
    used = grown["usage_usec"] / found["passed"] / 10_000
    wanted = min(percent, 100 * count, 100 * _cpus())
    return {
        "percent": round(used, 2),
        "ratio": round(used / wanted, 3),
        "throttled": round(grown["nr_throttled"] / max(1, grown["nr_periods"]), 3),
    }


def _weights(seconds: float) -> dict[str, Any]:
    limits = {str(weight): ("cpu.weight", str(weight), 1) for weight in WEIGHTS}
    grown = _run("cpu", _BUSY, str(seconds), json.dumps(limits))["grown"]
    used = {weight: grown[str(weight)]["usage_usec"] for weight in WEIGHTS}
    return {
        str(weight): {
            "percent": round(100 * used[weight] / max(1, sum(used.values())), 2),
            "ratio": round(used[weight] / max(1, sum(used.values())) * sum(WEIGHTS) / weight, 3),
        }
        for weight in WEIGHTS
    }


def _memory(mapped: str, advice: int, rounds: int) -> dict[str, Any]:
    found = [_run("memory", _GROWS, mapped, str(advice)) for _ in range(rounds)]
    return {
        "killed": sum(one["killed"] for one in found),
        "in_time": sum(one["killed"] and one["ms"] <= SOON and one["mib"] <= LITTLE for one in found),
        "ms": spread([one["ms"] for one in found], 1),
        "mib": spread([one["mib"] for one in found], 2),
    }


def table(result: dict[str, Any]) -> str:
    """A row for each quota, weight and size of pages."""
    lines = [f"{'cpu.max':10}  processes  % of a CPU  to the limit  periods throttled"]
    for quota, counts in result["cpu"].items():
        for count, one in counts.items():
            lines.append(
                f"{quota + ' %':10}  {count:>9}  {one['percent']:10.2f}  {one['ratio']:12.3f}  {one['throttled']:17.3f}"
            )
    lines += ["", f"{'cpu.weight':10}  % of the CPU  to its share"]
    lines += [f"{weight:10}  {one['percent']:12.2f}  {one['ratio']:12.3f}" for weight, one in result["weights"].items()]
    within = f"<= {SOON} ms and {LITTLE} MiB"
    lines += ["", f"{'memory.max':10}  killed  {within}  ms until dead  (min–max)     MiB over  (min–max)"]
    for pages, one in result["memory"].items():
        ms, mib = (f"({one[kind]['min']:.1f}–{one[kind]['max']:.1f})" for kind in ("ms", "mib"))
        lines.append(
            f"{pages:10}  {one['killed']:6}  {one['in_time']:{len(within)}}  {one['ms']['median']:13.1f}  {ms:12}  "
            f"{one['mib']['median']:8.2f}  {mib}"
        )
    run = result["run"]
    lines += [
        "",
        f"{run['seconds']:g} s for each quota, {run['rounds']} processes for each size of pages, "
        f"on {run['cpus']} CPUs; the load was {run['load']:g} at the end",
    ]
    return "\n".join(lines)
