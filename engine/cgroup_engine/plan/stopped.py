"""Cgroups that are gone and that nobody misses, by their pod's status.

A runtime removes the cgroup of a container that does not run, and makes it again. A kubelet removes the cgroup of a pod
that is being deleted (SyncTerminatedPod), and deletes the pod only then: a cgroup that comes back would keep it.
"""

from __future__ import annotations

from collections.abc import Sequence

from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.found import FoundTree


def is_stopped(cgroup: WantedCgroup, found: FoundTree) -> bool:
    """Is it of a container that waits or has terminated, and gone?"""
    return cgroup.container is not None and cgroup.container.stopped and found.get(cgroup.path) is None


def is_left(cgroup: WantedCgroup, found: FoundTree) -> bool:
    """Is it of a pod that is being deleted, or of its container, and gone?"""
    return cgroup.pod is not None and cgroup.pod.terminating and found.get(cgroup.path) is None


def without_stopped(wanted: Sequence[WantedCgroup], found: FoundTree) -> tuple[list[WantedCgroup], tuple[str, ...]]:
    """The cgroups without those of stopped containers and of pods that leave, and a line for each stopped container."""
    wanted = [cgroup for cgroup in wanted if not is_left(cgroup, found)]
    stopped = [cgroup for cgroup in wanted if is_stopped(cgroup, found)]
    paths = {cgroup.path for cgroup in stopped}
    notes = tuple(f"{cgroup.owner}: does not run, by its status" for cgroup in stopped)
    return [cgroup for cgroup in wanted if cgroup.path not in paths], notes
