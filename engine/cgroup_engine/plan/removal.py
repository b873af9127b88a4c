"""Cgroups of pods and containers that are not wanted any more, and the steps that remove them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cgroup_engine.model.names import Driver, is_container_directory, is_misplaced_container, is_pod_directory
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.step import Step
from cgroup_engine.tree.found import FoundCgroup, FoundTree
from cgroup_engine.tree.layout import Layout


def unwanted(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver) -> tuple[list[Step], list[str]]:
    """The steps that remove unwanted pods and containers, and a line for each that stays, as it has processes.

    :raises RootError: something there cannot be read.
    """
    return _remove(orphans(wanted, found, driver), found)


def _of_runtime(directory_name: str) -> bool:
    return is_container_directory(directory_name) or ":" in directory_name  # misplaced containers have a ":"


def orphans(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver) -> Iterator[FoundCgroup]:
    """Unwanted cgroups with the name of a pod or of a container, in the places of pods and containers."""
    paths = {cgroup.path for cgroup in wanted}
    found.expect(paths)
    yield from (cgroup for cgroup in misplaced(wanted, found) if cgroup.path not in paths)
    for cgroup in wanted:
        there = found.get(cgroup.path)
        if there is None or cgroup.level not in ("node", "qos", "pod"):
            continue
        for name in there.children:
            path = f"{cgroup.path}/{name}"
            ours = is_container_directory(name) if cgroup.level == "pod" else is_pod_directory(name, driver)
            child = found.get(path)
            if ours and path not in paths and child is not None:
                yield child


def misplaced(wanted: Sequence[WantedCgroup], found: FoundTree) -> Iterator[FoundCgroup]:
    """The containers of this node's pods that are beside containerd, if containers are misplaced there."""
    kubepods = next((cgroup.path for cgroup in wanted if cgroup.level == "node"), "")
    for cgroup in wanted:
        there = found.get(cgroup.path) if cgroup.level == "runtime" else None
        for name in there.children if there is not None else ():
            child = found.get(f"{cgroup.path}/{name}")
            if is_misplaced_container(name, kubepods) and child is not None:
                yield child


def _remove(candidates: Iterable[FoundCgroup], found: FoundTree) -> tuple[list[Step], list[str]]:
    steps: list[Step] = []
    kept: list[str] = []
    for orphan in candidates:
        subtree = list(found.below(orphan.path))
        busy = {cgroup.path: found.processes(cgroup.path) for cgroup in subtree}
        pids = [pid for each in busy.values() for pid in each]
        if pids:
            if not _of_runtime(orphan.path.rpartition("/")[2]):
                kept.append(f"/{orphan.path}: not wanted, kept: {who_lives(pids)} in it")
            continue  # in a wanted pod it may be the sandbox, which is the runtime's
        steps += remove_steps(reversed(subtree), found.layout, "not wanted any more")
    return steps, kept


def remove_steps(cgroups: Iterable[FoundCgroup], layout: Layout, why: str) -> Iterator[Step]:
    """The rmdir of cgroups in each of their hierarchies; the caller orders them, children first."""
    for cgroup in cgroups:
        for hierarchy in layout.hierarchies:
            if hierarchy in cgroup.hierarchies:
                path = layout.directory(hierarchy, cgroup.path)
                yield Step("rmdir", path, cgroup.path, why, "", during="remove")


def who_lives(pids: Sequence[int]) -> str:
    """``process 7 lives``, ``processes 7, 8 live``; five are named at most."""
    if len(pids) == 1:
        return f"process {pids[0]} lives"
    few = ", ".join(str(pid) for pid in pids[:5])
    more = f" and {len(pids) - 5} more" if len(pids) > 5 else ""
    return f"processes {few}{more} live"
