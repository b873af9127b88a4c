"""Weights share out a contended CPU. Quotas limit pods when there is CPU enough for all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from .cgroups import Cgroups
from .checks import Checks, is_near
from .node import Node
from .processes import BURN, Processes

#: Seconds that burners run before they are measured: the kernel's averages of load must have settled.
_SETTLE = 1.5
_ATTEMPTS = 3
_CONTAINERS = ("steady/work", "elastic/front", "elastic/back", "batch/work", "spare/work")
#: Whose parts of the CPU are big enough to be measured; a BestEffort pod's is not.
_MEASURED = ("steady", "elastic", "batch", "elastic/front", "elastic/back")
_PODS = ("steady", "elastic", "batch", "spare")


def check_weights(node: Node, cgroups: Cgroups, checks: Checks, window: float, tolerance: float) -> None:
    """All containers burn on one CPU; ``window``: seconds measured; ``tolerance``: part of what is expected."""
    explained = node.explained()
    field = "cpu_cores_under_load" if cgroups.version == 1 else "cpu_cores_under_load_v2"
    cores = {name: about[field] for name, about in explained.items()}
    paths = {name: about["cgroup"] for name, about in explained.items()}
    expected = _parts(cores)
    with Processes(node) as processes:
        for name in _CONTAINERS:
            processes.start(name, BURN, cpu=max(os.sched_getaffinity(0)))
        time.sleep(_SETTLE)
        measured = {name: expected[name] for name in _MEASURED}
        found, note = _attempts(lambda: _parts(_cores(cgroups, paths, window)), measured, tolerance)
    for name, amount in measured.items():
        checks.near(f"{name}: part of a contended CPU", found[name], amount, tolerance, note)
    # v1's 2 shares are less than a tick in a window of a few seconds, so only too much can be told from none
    checks.at_most("spare (BestEffort): part of a contended CPU", found["spare"], max(2 * expected["spare"], 0.02))


def check_quotas(node: Node, cgroups: Cgroups, checks: Checks, window: float, tolerance: float) -> None:
    """Two pods burn wherever they like, each less than a CPU's worth."""
    explained = node.explained(cpus=64)  # more than all may use: what is left to limit them is their own quota
    pods = {"steady": "steady/work", "batch": "batch/work"}
    paths = {pod: explained[pod]["cgroup"] for pod in pods}
    expected = {pod: explained[pod]["cpu_cores_under_load"] for pod in pods}
    with Processes(node) as processes:
        for container in pods.values():
            processes.start(container, BURN)
        time.sleep(_SETTLE / 3)
        before = {pod: cgroups.throttled(path) for pod, path in paths.items()}
        found, note = _attempts(lambda: _cores(cgroups, paths, window), expected, tolerance)
        throttled = {pod: cgroups.throttled(path) - before[pod] for pod, path in paths.items()}
    for pod, amount in expected.items():
        checks.near(f"{pod}: CPUs alone, under its quota", found[pod], amount, tolerance, note)
    for pod, periods in throttled.items():
        checks.at_least(f"{pod}: periods throttled", periods, 1)


def _attempts(
    measure: Callable[[], dict[str, float]], expected: Mapping[str, float], tolerance: float
) -> tuple[dict[str, float], str]:
    """The first figures that are as expected, or else the last ones; and which attempt it was, if not the first."""
    attempt, found = 1, measure()
    while attempt < _ATTEMPTS and not all(is_near(found[name], want, tolerance) for name, want in expected.items()):
        attempt, found = attempt + 1, measure()
    return found, f"attempt {attempt}" if attempt > 1 else ""


def _cores(cgroups: Cgroups, paths: Mapping[str, str], window: float) -> dict[str, float]:
    """CPUs that each used in a window of so many seconds."""
    start, before = time.monotonic(), {name: cgroups.usage(path) for name, path in paths.items()}
    time.sleep(window)
    used = {name: cgroups.usage(path) - before[name] for name, path in paths.items()}
    seconds = time.monotonic() - start
    return {name: amount / seconds for name, amount in used.items()}


def _parts(cores: Mapping[str, float]) -> dict[str, float]:
    """Of what all pods have together."""
    total = sum(cores[pod] for pod in _PODS)
    return {name: round(amount / total, 4) for name, amount in cores.items()}
