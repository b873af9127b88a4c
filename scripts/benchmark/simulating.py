"""How fast time passes for simulated processes: a node's pods on virtual time, beside the CPU time that this takes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from fakecgroup import Kernel, Workload

from . import interruption
from .spread import spread

_PODS = 110
_CPUS = 64
_CROWDED = 32  # CPUs, on which the same pods want more than there is for much of the time
_GROWTH = (10, 100, 1000)  # cgroups


def _phases(chance: random.Random) -> Workload:
    """Phases of 10 to 40 s, in which a process wants different amounts of CPU, or sleeps."""
    phases: list[dict[str, object]] = [
        {"for": f"{chance.randrange(10, 40)}s", "cpu": chance.choice((0.05, 0.1, 0.2, 0.4, 0.7))},
        {"sleep": f"{chance.randrange(10, 40)}s"},
        {"for": f"{chance.randrange(10, 40)}s", "cpu": chance.choice((0.1, 0.2, 0.5))},
    ]
    return Workload(phases, loop="forever", delay=f"{chance.randrange(20_000)}ms")


def _cycles(chance: random.Random) -> Workload:
    """Work of 5 to 35 ms, then sleep until 200 ms are over."""
    run = chance.choice((5, 10, 20, 35))
    phases = [{"run": f"{run}ms"}, {"sleep": f"{200 - run}ms"}]
    return Workload(phases, loop="forever", delay=f"{chance.randrange(200)}ms")


def _idle(chance: random.Random) -> Workload:
    """Sleep."""
    return Workload([{"sleep": "1000h"}], loop="forever", delay=f"{chance.randrange(20_000)}ms")


#: name -> what the processes do, on how many CPUs, seconds of virtual time
SHAPES: dict[str, tuple[Callable[[random.Random], Workload], int, float]] = {
    "phases": (_phases, _CPUS, 200),
    "phases, crowded": (_phases, _CROWDED, 50),
    "cycles": (_cycles, _CPUS, 2),
    "cycles, crowded": (_cycles, _CROWDED // 4, 0.2),
    "idle": (_idle, _CPUS, 1_000_000),
}


def _node(pods: int, workload: Callable[[random.Random], Workload], cpus: int) -> Kernel:
    """A tree of pods in three QoS classes, each with two containers with a process; half of the containers have a
    quota, and so their pods.
    """
    chance = random.Random(0)
    kernel = Kernel(kernel="6.12", cpus=cpus, memory="256Gi", clock=lambda: 0)
    enabled = "+cpu +memory"
    kernel.write("/cgroup.subtree_control", enabled)
    for parent in ("/kubepods", "/kubepods/burstable", "/kubepods/besteffort"):
        kernel.mkdir(parent)
        kernel.write(f"{parent}/cgroup.subtree_control", enabled)
    for number in range(pods):
        qos = ("", "/burstable", "/besteffort")[number % 3]
        pod = f"/kubepods{qos}/pod{number}"
        kernel.mkdir(pod)
        kernel.write(f"{pod}/cgroup.subtree_control", enabled)
        limits = [chance.choice((20_000, 50_000, 100_000)) for _ in range(2)]  # µs per 100 ms
        for container, limit in enumerate(limits):
            cgroup = f"{pod}/c{container}"
            kernel.mkdir(cgroup)
            kernel.write(f"{cgroup}/cpu.weight", "1" if qos == "/besteffort" else str(chance.randrange(2, 60)))
            if number % 2:
                kernel.write(f"{cgroup}/cpu.max", f"{limit} 100000")
            kernel.spawn(cgroup, workload(chance))
        if number % 2:
            kernel.write(f"{pod}/cpu.max", f"{sum(limits)} 100000")
    return kernel


def _seconds(kernel: Kernel, virtual: float) -> float:
    """CPU time that so much virtual time takes."""
    begin = time.process_time()
    kernel.advance(virtual)
    return max(1e-6, time.process_time() - begin)


def measure(rounds: int) -> dict[str, Any]:
    """For each shape the ratio of virtual to CPU time, and µs of CPU time per virtual second for trees that grow."""
    kernels = {name: _node(_PODS, workload, cpus) for name, (workload, cpus, _) in SHAPES.items()}
    grown = {cgroups: _node(max(1, cgroups // 3), _phases, cgroups) for cgroups in _GROWTH}
    for name, kernel in kernels.items():
        kernel.advance(min(20, SHAPES[name][2]))
    for kernel in grown.values():
        kernel.advance(20)
    ratios: dict[str, list[float]] = {name: [] for name in SHAPES}
    costs: dict[int, list[float]] = {cgroups: [] for cgroups in _GROWTH}
    for _ in range(rounds):
        for name, (_, _, virtual) in SHAPES.items():
            interruption.check()
            ratios[name].append(virtual / _seconds(kernels[name], virtual))
        for cgroups, kernel in grown.items():
            interruption.check()
            costs[cgroups].append(_seconds(kernel, 100) / 100 * 1e6)
    return {
        "run": {"rounds": rounds, "pods": _PODS, "cgroups": 3 * _PODS + 3, "processes": 2 * _PODS},
        "ratio": {name: {"cpus": SHAPES[name][1], **spread(values, 1)} for name, values in ratios.items()},
        "us_per_second": {str(cgroups): spread(values, 1) for cgroups, values in costs.items()},
    }


_WHAT = {
    "phases": "phases of 10 s to 40 s",
    "phases, crowded": "the same, on too few CPUs",
    "cycles": "work and sleep, 200 ms",
    "cycles, crowded": "the same, on too few CPUs",
    "idle": "sleep",
}


def table(result: dict[str, Any]) -> str:
    """A row for each shape: how many times faster than real; and one for each size: µs per virtual second."""
    run = result["run"]
    lines = [f"{'':26}  {'CPUs':>4}  {'virtual / CPU time':>18}  (min–max)"]
    for name, figures in result["ratio"].items():
        lines.append(
            f"{_WHAT[name]:26}  {figures['cpus']:>4}  {figures['median']:>18,.0f}  "
            f"({figures['min']:,.0f}–{figures['max']:,.0f})"
        )
    lines += ["", f"{'phases of 10 s to 40 s':26}  {'µs per virtual second':>24}  (min–max)"]
    for cgroups, figures in result["us_per_second"].items():
        lines.append(
            f"{f'{cgroups} cgroups':26}  {figures['median']:>24,.0f}  ({figures['min']:,.0f}–{figures['max']:,.0f})"
        )
    lines += [
        "",
        f"{run['pods']} pods in {run['cgroups']} cgroups with {run['processes']} processes, half of them under quotas; "
        f"{run['rounds']} rounds, one thread",
    ]
    return "\n".join(lines)
