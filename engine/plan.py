"""The plan: the ordered steps from the found tree to the wanted one, every state between them legal.

Three passes:

1. From the root down: make what is missing, with its values at once, enable controllers for children (v2), and raise
   what becomes larger. A child is never above its parent: the parent was raised before it.
2. From the leaves up: remove the pods and containers that are not wanted any more, as far as no process lives there.
3. From the leaves up: lower what becomes smaller. A parent is never below its child: the child was lowered before it.

Only cgroup v1's CPU quota is refused otherwise; for memory and pids the order keeps a limit from hitting for a moment
where neither the old nor the new tree would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from engine.found import FoundCgroup, FoundTree
from engine.knobs import CPUS, MEMS, Knob, Setting, knobs_of
from engine.layout import Layout
from engine.names import Driver, is_container_directory, is_misplaced_container, is_pod_directory
from engine.reserved import check_reserved
from engine.wanted_cgroup import WantedCgroup

Action = Literal["mkdir", "write", "rmdir", "start", "set", "stop"]  # the last three of systemd's units
Pass = Literal["make", "remove", "lower"]


@dataclass(frozen=True)
class Step:
    """One system call's worth of change.

    ``path`` is relative to the root. ``text`` is what is written and ``before`` what was there. ``cgroup`` is the
    cgroup's path, the same in every tree. ``knob`` is None for the directories and for cgroup.subtree_control.
    ``usage``: the file with the bytes in use, which are written instead if the kernel refuses ``text``.
    """

    action: Action
    path: str
    cgroup: str
    why: str
    owner: str
    text: str = ""
    before: str = ""
    knob: Knob | None = None
    during: Pass = "make"
    usage: str = ""

    @property
    def file(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Plan:
    """Steps in order, what is left as it is although it is not wanted, and what waits for someone else to make it."""

    layout: Layout
    steps: tuple[Step, ...]
    kept: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


def settings_of(cgroup: WantedCgroup, layout: Layout) -> Iterator[tuple[Knob, Setting]]:
    """What is wanted in a cgroup's files. Of the operator's cgroups only what the configuration names."""
    if cgroup.level in ("root", "system", "runtime"):
        return
    for knob in knobs_of(layout, cgroup.limits):
        if cgroup.level == "reserved" and not knob.given(cgroup.limits):
            continue
        setting = knob.setting(cgroup.limits)
        if setting is not None:
            yield knob, setting


def make_plan(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver) -> Plan:
    """The steps from what is found to what is wanted. Changes nothing.

    :raises ReservedCgroupMissingError: an enforced reserved cgroup does not exist as a kubelet wants it.
    :raises RootError: something there cannot be read.
    """
    layout = found.layout
    wanted = [at_usage(cgroup, found) for cgroup in wanted]
    ours = {"", *(cgroup.path for cgroup in wanted if cgroup.level in ("root", "node"))}
    for cgroup in wanted:
        if cgroup.level == "reserved":
            check_reserved(cgroup, found, ours)
    made = list(_make(wanted, found))
    removed, kept = unwanted(wanted, found, driver)
    lowered = list(_lower(wanted, found))
    return Plan(layout, (*made, *removed, *lowered), tuple(kept))


def at_usage(cgroup: WantedCgroup, found: FoundTree) -> WantedCgroup:
    """A QoS class that qosReserved leaves less than nothing, with what it uses for a limit; nothing is no limit.

    The kernel refuses a limit below zero, and the kubelet tries again with what is in use (retrySetMemoryReserve).
    """
    if cgroup.level != "qos" or cgroup.limits.memory is None or cgroup.limits.memory >= 0:
        return cgroup
    file = "memory.usage_in_bytes" if found.layout.version == 1 else "memory.current"
    try:
        usage = int(found.fs.read(found.layout.file("memory", cgroup.path, file)))
    except (OSError, ValueError):
        usage = 0
    return replace(cgroup, limits=replace(cgroup.limits, memory=usage or None))


def _make(wanted: Sequence[WantedCgroup], found: FoundTree) -> Iterator[Step]:
    layout = found.layout
    parents = {cgroup.parent for cgroup in wanted}
    if layout.version == 2:
        yield from _enable("", "cgroup root", found)
    for cgroup in wanted:
        there = found.get(cgroup.path)
        for tree in layout.trees:
            if there is None or tree not in there.trees:
                if cgroup.level == "reserved":
                    continue  # the operator's; the trees without values are not needed
                yield Step("mkdir", layout.directory(tree, cgroup.path), cgroup.path, _purpose(cgroup), cgroup.owner)
        if layout.version == 1 and "cpuset" in layout.tree_of and cgroup.level != "reserved":
            yield from _filled(cgroup, found)
        for knob, new in settings_of(cgroup, layout):
            shown = there.setting(knob) if there is not None else None
            old, is_new = shown or knob.default, shown is None
            if not _same(knob, old, new) and (is_new or not knob.size(new) < knob.size(old)):
                yield from _writes(cgroup, knob, old, new, layout, "make")
        if layout.version == 2 and cgroup.path in parents and cgroup.level not in ("reserved", "system"):
            yield from _enable(cgroup.path, cgroup.owner, found)


def _filled(cgroup: WantedCgroup, found: FoundTree) -> Iterator[Step]:
    """cpuset.cpus and cpuset.mems as far as they are empty: what the nearest cgroup above has.

    On v1 no task can enter a cgroup without them, so libcontainer fills them (``fs/cpuset.go``, ensureCpusAndMems).
    """
    for knob in (CPUS, MEMS):
        [file] = knob.files
        if (knob is CPUS and knob.given(cgroup.limits)) or found.cpuset(cgroup.path, file):
            continue
        above = cgroup.path
        while above and not (text := found.cpuset(above := above.rpartition("/")[0], file)):
            pass
        path = found.layout.file("cpuset", cgroup.path, file)
        yield Step("write", path, cgroup.path, "v1 lets no task in without", cgroup.owner, text, "", knob)


def _lower(wanted: Sequence[WantedCgroup], found: FoundTree) -> Iterator[Step]:
    for cgroup in reversed(wanted):
        there = found.get(cgroup.path)
        if there is None:
            continue
        for knob, new in settings_of(cgroup, found.layout):
            old = there.setting(knob)
            if old is not None and not _same(knob, old, new) and knob.size(new) < knob.size(old):
                yield from _writes(cgroup, knob, old, new, found.layout, "lower")


def _same(knob: Knob, found: Setting, wanted: Setting) -> bool:
    return found == wanted or all(
        knob.same(want, have, file) for want, have, file in zip(wanted, found, knob.files, strict=True)
    )


def _writes(
    cgroup: WantedCgroup, knob: Knob, old: Setting, new: Setting, layout: Layout, during: Pass
) -> Iterator[Step]:
    shown = dict(zip(knob.files, old, strict=True))
    for file, text in knob.writes(old, new):
        path = layout.file(knob.controller, cgroup.path, file)
        why = cgroup.rules.get(knob.field, "the kernel's default")
        usage = _usage_file(cgroup, knob, layout)
        yield Step("write", path, cgroup.path, why, cgroup.owner, text, shown[file], knob, during, usage)
        shown[file] = text


def _usage_file(cgroup: WantedCgroup, knob: Knob, layout: Layout) -> str:
    """Of a QoS class's memory limit (qosReserved), which may be below what its pods use (retrySetMemoryReserve)."""
    if cgroup.level != "qos" or knob.field != "memory":
        return ""
    return layout.file("memory", cgroup.path, "memory.usage_in_bytes" if layout.version == 1 else "memory.current")


def _enable(path: str, owner: str, found: FoundTree) -> Iterator[Step]:
    """cgroup.subtree_control of a cgroup with wanted children: the controllers in use that are not on yet."""
    there = found.get(path)
    enabled = there.enabled if there is not None else frozenset()
    missing = [name for name in found.layout.tree_of if name not in enabled]
    if missing:
        file = f"{path}/cgroup.subtree_control" if path else "cgroup.subtree_control"
        text = " ".join(f"+{name}" for name in missing)
        yield Step("write", file, path, "children need these controllers", owner, text, " ".join(sorted(enabled)))


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


def unwanted(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver) -> tuple[list[Step], list[str]]:
    """How to remove the pods and containers that are not wanted, and a line for each that has processes.

    :raises RootError: something there cannot be read.
    """
    return _remove(orphans(wanted, found, driver), found)


def _of_runtime(directory_name: str) -> bool:
    return is_container_directory(directory_name) or ":" in directory_name  # the latter are misplaced ones


def orphans(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver) -> Iterator[FoundCgroup]:
    """Cgroups with the name of a pod or of a container, where such ones belong, that are not wanted."""
    paths = {cgroup.path for cgroup in wanted}
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
    """The containers of this node's pods that are beside containerd, if that is where they belong."""
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
            continue  # in a wanted pod this may be the sandbox, which is the runtime's
        steps += remove_steps(reversed(subtree), found.layout, "not wanted any more")
    return steps, kept


def remove_steps(cgroups: Iterable[FoundCgroup], layout: Layout, why: str) -> Iterator[Step]:
    """rmdir of cgroups in every tree they are in; the order is the caller's, children first."""
    for cgroup in cgroups:
        for tree in layout.trees:
            if tree in cgroup.trees:
                path = layout.directory(tree, cgroup.path)
                yield Step("rmdir", path, cgroup.path, why, "", during="remove")


def who_lives(pids: Sequence[int]) -> str:
    """``process 7 lives``, ``processes 7, 8 live``; five are named at most."""
    if len(pids) == 1:
        return f"process {pids[0]} lives"
    few = ", ".join(str(pid) for pid in pids[:5])
    more = f" and {len(pids) - 5} more" if len(pids) > 5 else ""
    return f"processes {few}{more} live"
