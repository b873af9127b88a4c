"""Removes the hierarchy: kubepods with all pods, and nothing that is someone else's.

* kubepods and all cgroups below it are removed, children first, if no process lives there. If a cgroup in it has not
  the name of a QoS class, a pod or a container, it is someone else's, and nothing is removed. Without kubepods there is
  nothing to do, unless an apply or a down was cut short.
* cgroupRoot is removed if nothing else is in it. The engine does not record whether it made cgroupRoot.
* The reserved cgroups are the operator's and stay. Values that the configuration sets there become the kernel's
  defaults, as former values are not recorded. A list of CPUs stays if processes or cgroups there need it.
* v2: controllers are disabled for children where no child is left. Elsewhere they stay enabled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cgroup_engine.errors import BusyCgroupError
from cgroup_engine.model.names import Driver, is_container_directory, is_pod_directory
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.removal import misplaced, remove_steps, who_lives
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.steps import settings_of
from cgroup_engine.tree.found import FoundCgroup, FoundTree


def down_plan(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver, *, recorded: bool = False) -> Plan:
    """The steps that remove the hierarchy; ``wanted`` is the tree of a node without pods.

    ``recorded``: a record says that the hierarchy is this engine's. Then its ancestors are restored even without
    kubepods: an apply was cut short before it made kubepods, or a down after it removed kubepods.

    :raises BusyCgroupError: processes or someone else's cgroups are in it.
    :raises RootError: something there cannot be read.
    """
    node = next(cgroup for cgroup in wanted if cgroup.level == "node")
    qos = [cgroup.path for cgroup in wanted if cgroup.level == "qos"]
    subtree = list(found.below(node.path))
    outside = list(misplaced(wanted, found))
    if not subtree and not outside and not recorded:
        return Plan(found.layout, ())
    _check_ours(subtree, node.path, qos, driver)
    _check_idle([*outside, *subtree], found)
    removed = [*outside, *reversed(subtree), *_empty_roots(wanted, found, node.path)]
    gone = {cgroup.path for cgroup in removed}
    steps = [
        *_reset(wanted, found),
        *remove_steps(removed, found.layout, "made by this engine"),
        *_disable(wanted, found, gone),
    ]
    return Plan(found.layout, tuple(steps), (*_left(wanted, found, gone), *_keeping_cpus(wanted, found)))


def _check_ours(subtree: Sequence[FoundCgroup], top: str, qos: Sequence[str], driver: Driver) -> None:
    for cgroup in subtree:
        parent, _, name = cgroup.path.rpartition("/")
        if cgroup.path == top or cgroup.path in qos:
            continue
        in_class = parent == top or parent in qos
        if (in_class and is_pod_directory(name, driver)) or (
            _is_pod(parent, top, qos) and is_container_directory(name)
        ):
            continue
        raise BusyCgroupError(
            f"/{cgroup.path}: is no QoS class, pod or container, so it is someone else's; nothing was removed",
            path=cgroup.path,
            todo="remove it first",
        )


def _is_pod(path: str, top: str, qos: Sequence[str]) -> bool:
    parent = path.rpartition("/")[0]
    return path not in (top, *qos) and parent in (top, *qos)


def _check_idle(subtree: Sequence[FoundCgroup], found: FoundTree) -> None:
    busy = [(cgroup.path, pids) for cgroup in subtree if (pids := found.processes(cgroup.path))]
    if busy:
        path, pids = busy[0]
        others = f" (and {len(busy) - 1} more cgroups have processes)" if len(busy) > 1 else ""
        raise BusyCgroupError(
            f"/{path}: {who_lives(pids)} in it{others}; nothing was removed", path=path, todo="end them first"
        )


def _empty_roots(wanted: Sequence[WantedCgroup], found: FoundTree, child: str) -> Iterator[FoundCgroup]:
    for cgroup in reversed([cgroup for cgroup in wanted if cgroup.level == "root"]):
        there = found.get(cgroup.path)
        if there is None:
            child = cgroup.path
            continue
        others = [name for name in there.children if f"{cgroup.path}/{name}" != child]
        if others or found.processes(cgroup.path):
            return
        yield there
        child = cgroup.path


def _reset(wanted: Sequence[WantedCgroup], found: FoundTree) -> Iterator[Step]:
    for cgroup in wanted:
        there = found.get(cgroup.path)
        if cgroup.level != "reserved" or there is None:
            continue
        for knob, _ in settings_of(cgroup, found.layout):
            have = there.setting(knob)
            if have is None or (knob.field == "cpus" and _needs_cpus(there, found)):
                continue
            for n, (file, default) in enumerate(zip(knob.files, knob.default, strict=True)):
                if not knob.same(default, have[n], file):
                    path = found.layout.file(knob.controller, cgroup.path, file)
                    why = "the kernel's default; the former value is not recorded"
                    yield Step("write", path, cgroup.path, why, cgroup.owner, default, have[n], knob)


def _needs_cpus(reserved: FoundCgroup, found: FoundTree) -> bool:
    """Must a reserved cgroup keep its list of CPUs?

    On v1 always: there is no default. On v2 the kernel refuses to empty the list of a cgroup with processes
    (validate_change: ENOSPC before 7.2) or with children's lists (EBUSY before 6.1).
    """
    if found.layout.version == 1:
        return True
    below = list(found.below(reserved.path))
    return any(found.processes(each.path) for each in below) or any(
        found.cpuset(each.path, "cpuset.cpus") for each in below if each.path != reserved.path
    )


def _keeping_cpus(wanted: Sequence[WantedCgroup], found: FoundTree) -> Iterator[str]:
    for cgroup in wanted:
        there = found.get(cgroup.path)
        if cgroup.level == "reserved" and cgroup.limits.cpus is not None and there is not None:
            have = found.cpuset(cgroup.path, "cpuset.cpus")
            if found.layout.version == 2 and have and _needs_cpus(there, found):
                yield f"/{cgroup.path}: cpuset.cpus stays {have}, as processes or cgroups in it need a list"


def _disable(wanted: Sequence[WantedCgroup], found: FoundTree, gone: set[str]) -> Iterator[Step]:
    if found.layout.version != 2:
        return
    for path in _ancestors(wanted):
        there = found.get(path)
        if there is None or path in gone or _remaining(there, gone):
            continue
        on = [name for name in found.layout.available if name in there.enabled]
        if on:
            file = f"{path}/cgroup.subtree_control" if path else "cgroup.subtree_control"
            text = " ".join(f"-{name}" for name in on)
            yield Step("write", file, path, "no child is left", "cgroup root", text, " ".join(sorted(there.enabled)))


def _left(wanted: Sequence[WantedCgroup], found: FoundTree, gone: set[str]) -> Iterator[str]:
    for path in _ancestors(wanted):
        there = found.get(path)
        if there is None or path in gone:
            continue
        on = [name for name in found.layout.available if name in there.enabled]
        if on and _remaining(there, gone):
            yield f"/{path}: {' '.join(on)} stay enabled for its other children"


def _ancestors(wanted: Sequence[WantedCgroup]) -> list[str]:
    """cgroupRoot and its ancestors, the deepest first, the root ("") last."""
    return [cgroup.path for cgroup in reversed(wanted) if cgroup.level == "root"] + [""]


def _remaining(there: FoundCgroup, gone: set[str]) -> list[str]:
    prefix = there.path + "/" if there.path else ""
    return [name for name in there.children if prefix + name not in gone]
