"""The plan: the ordered steps from the found tree to the wanted one, with only legal states between.

1. ``remove``, children first: unwanted pods and containers, if no process lives there.
2. ``lower``, children first: values that shrink.
3. ``make``, parents first: missing cgroups with their values, controllers for children (v2), and values that grow.
4. ``settle``, children first: lists of CPUs that held more than the wanted ones for a moment (v1).

``order`` explains why the kernel refuses no step, and why no limit is looser or tighter than both before and after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from cgroup_engine.model.names import Driver
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.order import Order
from cgroup_engine.plan.removal import unwanted
from cgroup_engine.plan.reserved_cgroups import check_reserved_cgroup
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.stopped import without_stopped
from cgroup_engine.plan.write import NO_WRITES, Pass, PassWrites, Write
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import many_calls
from cgroup_engine.tree.knobs import CPUS, MEMS, V1_QUOTA, Knob, Setting, knobs_of
from cgroup_engine.tree.layout import Layout

_UNMANAGED = ("root", "system", "runtime")


def settings_of(cgroup: WantedCgroup, layout: Layout) -> Iterator[tuple[Knob, Setting]]:
    """The wanted setting of each knob of a cgroup; of a reserved cgroup only those that the configuration sets."""
    if cgroup.level in _UNMANAGED:
        return
    for knob in knobs_of(layout, cgroup.limits):
        setting = _wanted_setting(cgroup, knob)
        if setting is not None:
            yield knob, setting


def make_plan(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver) -> Plan:
    """The steps from the found tree to the wanted one. Changes nothing.

    The plan makes no cgroup for a container that does not run, nor for a pod that is being deleted.

    :raises ReservedCgroupMissingError: an enforced reserved cgroup does not exist as a kubelet demands it.
    :raises RootError: something there cannot be read.
    """
    with many_calls(found.fs):
        return _planned(wanted, found, driver)


def _planned(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver) -> Plan:
    layout = found.layout
    wanted, waiting = without_stopped([at_usage(cgroup, found) for cgroup in wanted], found)
    ours = {"", *(cgroup.path for cgroup in wanted if cgroup.level in ("root", "node"))}
    for cgroup in wanted:
        if cgroup.level == "reserved":
            check_reserved_cgroup(cgroup, found, ours)
    removed, kept = unwanted(wanted, found, driver)
    writes = _Writes(wanted, found, {step.cgroup for step in removed})
    lowered = [step for cgroup in reversed(wanted) for step in writes.steps(cgroup, "lower")]
    made = list(_make(wanted, found, writes))
    settled = [step for cgroup in reversed(wanted) for step in writes.steps(cgroup, "settle")]
    quotas_taken = _quotas_taken(removed, found) if driver == "cgroupfs" else ()
    return Plan(layout, (*quotas_taken, *removed, *lowered, *made, *settled), tuple(kept), waiting)


def _quotas_taken(removed: Sequence[Step], found: FoundTree) -> Iterator[Step]:
    """v1: takes the quota from removed cgroups. The kernel's check counts it for some milliseconds after the rmdir."""
    if found.layout.version == 2:
        return
    for path in dict.fromkeys(step.cgroup for step in removed):
        there = found.get(path)
        setting = there.setting(V1_QUOTA) if there is not None else None
        if setting is not None and int(setting[0]) >= 0:
            file = found.layout.file("cpu", path, V1_QUOTA.files[0])
            why = "is removed, but would count for a moment"
            yield Step("write", file, path, why, "", "-1", setting[0], V1_QUOTA, "remove")


def at_usage(cgroup: WantedCgroup, found: FoundTree) -> WantedCgroup:
    """A QoS class with its memory in use as the limit, if qosReserved leaves it less than nothing.

    The kernel refuses a limit below zero, and the kubelet tries again with the usage (retrySetMemoryReserve). If
    nothing is in use, there is no limit.
    """
    if cgroup.level != "qos" or cgroup.limits.memory is None or cgroup.limits.memory >= 0:
        return cgroup
    file = "memory.usage_in_bytes" if found.layout.version == 1 else "memory.current"
    try:
        usage = int(found.fs.read(found.layout.file("memory", cgroup.path, file)))
    except (OSError, ValueError):
        usage = 0
    return replace(cgroup, limits=replace(cgroup.limits, memory=usage or None))


class _Writes:
    """The writes of every cgroup in each pass, as steps."""

    def __init__(self, wanted: Sequence[WantedCgroup], found: FoundTree, gone: Collection[str]) -> None:
        self.found = found
        self.layout = found.layout
        self._shown: dict[str, str] = {}
        by_path = {cgroup.path: cgroup for cgroup in wanted}
        order = Order(by_path, found, gone, lambda path, knob: _wanted_setting(by_path.get(path), knob))
        self._by_cgroup = {cgroup.path: list(self._of(cgroup, order)) for cgroup in reversed(wanted)}

    def _of(self, cgroup: WantedCgroup, order: Order) -> Iterator[PassWrites]:
        fills = self.layout.version == 1 and "cpuset" in self.layout.hierarchy_of
        if fills and (cpus := order.cpus.wanted(cgroup.path)) is not None:
            yield order.cpus.v1_writes(cgroup, cpus)
        for knob, new in settings_of(cgroup, self.layout):
            if fills and knob is CPUS:
                continue
            writes = order.writes(cgroup, knob, new)
            if writes is not NO_WRITES:
                yield writes

    def steps(self, cgroup: WantedCgroup, during: Pass) -> Iterator[Step]:
        for writes in self._by_cgroup[cgroup.path]:
            for write in writes.of(during):
                path = self.layout.file(write.knob.controller, cgroup.path, write.file)
                yield Step(
                    "write", path, cgroup.path, _why(cgroup, write.knob), cgroup.owner, write.text,
                    self._before(cgroup.path, path, write), write.knob, during,
                    _usage_file(cgroup, write.knob, self.layout), write.need, write.obstacle,
                )  # fmt: skip
                self._shown[path] = write.text

    def _before(self, cgroup: str, path: str, write: Write) -> str:
        if path in self._shown:
            return self._shown[path]
        there, knob = self.found.get(cgroup), write.knob
        setting = (there.setting(knob) if there is not None else None) or knob.default
        return setting[knob.files.index(write.file)]


def _wanted_setting(cgroup: WantedCgroup | None, knob: Knob) -> Setting | None:
    """The wanted setting of a knob; None if the engine does not manage it there."""
    if cgroup is None or cgroup.level in _UNMANAGED or (cgroup.level == "reserved" and not knob.given(cgroup.limits)):
        return None
    return knob.setting(cgroup.limits)


def _why(cgroup: WantedCgroup, knob: Knob) -> str:
    if knob.field == "cpus" and not knob.given(cgroup.limits):
        return "v1: what the cgroup above has, as no task gets in without"
    return cgroup.why(knob.field)


def _make(wanted: Sequence[WantedCgroup], found: FoundTree, writes: _Writes) -> Iterator[Step]:
    layout = found.layout
    parents = {cgroup.parent for cgroup in wanted}
    if layout.version == 2:
        yield from _enable("", "cgroup root", found)
    for cgroup in wanted:
        there = found.get(cgroup.path)
        if cgroup.level != "reserved":  # the operator makes that, and only in hierarchies with values
            there_in = there.hierarchies if there is not None else ()
            missing = [hierarchy for hierarchy in layout.hierarchies if hierarchy not in there_in]
            purpose = _purpose(cgroup) if missing else ""
            for hierarchy in missing:
                directory = layout.directory(hierarchy, cgroup.path)
                yield Step("mkdir", directory, cgroup.path, purpose, cgroup.owner)
        fills = layout.version == 1 and "cpuset" in layout.hierarchy_of and cgroup.level != "reserved"
        if fills and not MEMS.given(cgroup.limits):
            yield from _with_memory_nodes(cgroup, found)
        yield from writes.steps(cgroup, "make")
        if layout.version == 2 and cgroup.path in parents and cgroup.level not in ("reserved", "system"):
            yield from _enable(cgroup.path, cgroup.owner, found)


def _with_memory_nodes(cgroup: WantedCgroup, found: FoundTree) -> Iterator[Step]:
    """Fills an empty cpuset.mems from the nearest ancestor.

    On v1 no task can enter a cgroup without memory nodes, so libcontainer fills it (``fs/cpuset.go``,
    ensureCpusAndMems).
    """
    [file] = MEMS.files
    if found.cpuset(cgroup.path, file):
        return
    above = cgroup.path
    while above and not (text := found.cpuset(above := above.rpartition("/")[0], file)):
        pass
    path = found.layout.file("cpuset", cgroup.path, file)
    yield Step("write", path, cgroup.path, "v1 lets no task in without", cgroup.owner, text, "", MEMS)


def _usage_file(cgroup: WantedCgroup, knob: Knob, layout: Layout) -> str:
    """The usage file of a QoS class's memory limit, which qosReserved may set below the usage."""
    if cgroup.level != "qos" or knob.field != "memory":
        return ""
    return layout.file("memory", cgroup.path, "memory.usage_in_bytes" if layout.version == 1 else "memory.current")


def _enable(path: str, owner: str, found: FoundTree) -> Iterator[Step]:
    """Enables all controllers of the root that are not enabled yet, as libcontainer does (``fs2/create.go``)."""
    there = found.get(path)
    enabled = there.enabled if there is not None else frozenset()
    missing = [name for name in found.layout.available if name not in enabled]
    if missing:
        file = f"{path}/cgroup.subtree_control" if path else "cgroup.subtree_control"
        text = " ".join(f"+{name}" for name in missing)
        yield Step(
            "write", file, path, "children get all controllers of the root", owner, text, " ".join(sorted(enabled))
        )


def _purpose(cgroup: WantedCgroup) -> str:
    return {
        "root": "cgroupRoot",
        "node": "all pods",
        "qos": f"{cgroup.owner} pods",
        "pod": f"{cgroup.qos} pod",
        "container": "container",
        "reserved": "reserved",
        "system": cgroup.owner,
        "runtime": cgroup.owner,
    }[cgroup.level]
