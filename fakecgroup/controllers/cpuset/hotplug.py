"""Cpusets after a CPU has come or gone (kernel/cgroup/cpuset.c, cpuset_handle_hotplug)."""

from __future__ import annotations

from .rules import Rules
from .state import CpusetState


def handle_hotplug(top: CpusetState, rules: Rules) -> None:
    """Bring the root up to date, and then all cpusets, parents before children."""
    if not rules.resize_root(top):
        return
    waiting = [*top.children()][::-1]
    while waiting:
        css = waiting.pop()
        rules.follow_hotplug(css)
        waiting += [*css.children()][::-1]
    rules.end_hotplug(top)
