"""Containers that do not run, by their pod's status: a runtime removes their cgroup and makes it again."""

from __future__ import annotations

from collections.abc import Sequence

from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.found import FoundTree


def is_stopped(cgroup: WantedCgroup, found: FoundTree) -> bool:
    """Is it of a container that waits or has terminated, and gone?"""
    return cgroup.container is not None and cgroup.container.stopped and found.get(cgroup.path) is None


def without_stopped(wanted: Sequence[WantedCgroup], found: FoundTree) -> tuple[list[WantedCgroup], tuple[str, ...]]:
    """The cgroups without those of stopped containers, and a line for each of these."""
    stopped = [cgroup for cgroup in wanted if is_stopped(cgroup, found)]
    paths = {cgroup.path for cgroup in stopped}
    notes = tuple(f"{cgroup.owner}: does not run, by its status" for cgroup in stopped)
    return [cgroup for cgroup in wanted if cgroup.path not in paths], notes
