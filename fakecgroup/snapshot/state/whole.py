"""The whole state of a kernel, written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.cgroup import Cgroup
from ...core.hierarchy import INO_STRIDE, Hierarchy
from ...kernel import Kernel
from ...kernfs.inode import Symlink, TopDirectory
from ...tasks.affinity import AffinityTable
from ...tasks.joined_processes import JoinedProcesses
from ...tasks.process_table import ProcessTable
from ..names import is_name
from .codec import Codec, StateError
from .kinds import ALONE, GIVEN, KINDS, SHARED, schema

_TOGETHER = 200  # records in a line


def table_of(kernel: Kernel) -> ProcessTable:
    """The processes that exist in the model only."""
    processes = kernel.processes
    table = processes.simulated if isinstance(processes, JoinedProcesses) else processes
    assert isinstance(table, ProcessTable)
    return table


def _alone(kernel: Kernel) -> dict[str, object]:
    """What there is one of in a kernel, by a name."""
    membership, top = kernel.membership, kernel.root
    found: dict[str, object] = {
        "clock": kernel.clock,
        "cpus": kernel.cpus,
        "membership": membership,
        "css sets": membership.css_sets,
        "cpu accounts": membership.cpu,
        "memory charges": membership.memory,
        "table": table_of(kernel),
    }
    if isinstance(membership.affinities, AffinityTable):
        found["affinities"] = membership.affinities
    if isinstance(top, TopDirectory):
        found["top"] = top
        found |= {f"link {name}": one for name, one in top.content.items() if isinstance(one, Symlink)}
    found |= {f"hierarchy {number}": one for number, one in enumerate(kernel.hierarchies)}
    if kernel.world is not None:
        found |= {"world": kernel.world, "restarts": kernel.world.restarts}
        found |= {resource.name: resource for resource in kernel.world.resources}
        found |= {"scheduler": kernel.world.scheduler}
    return found


def _class_of(one: object) -> type:
    """The class whose state is kept; that of an object may be one of its user."""
    return next(cls for cls in ALONE if isinstance(one, cls))


# -- writing ----------------------------------------------------------------------------------------


def save(kernel: Kernel) -> list[Any]:
    """The state as JSON values, one for each line. Simulated processes are looked at anew at the next `advance`."""
    if kernel.world is not None:
        kernel.world.settle_for_snapshot()
    codec = _Saving()
    tree: list[Any] = []
    for number, hierarchy in enumerate(kernel.hierarchies):
        for cgroup in _in_order(hierarchy.root):
            codec.give(cgroup)
            for css in cgroup.csses.made():
                codec.give(css)
            for file in cgroup.files.values():
                codec.give(file)
            tree.append(_entry(codec, number, cgroup))
    alone = {name: codec.state(one, _class_of(one)) for name, one in _alone(kernel).items()}
    records: dict[type, list[Any]] = {group: [] for group in (*SHARED, *GIVEN)}
    while any(len(records[group]) < len(codec.objects[group]) for group in records):
        for group, values in records.items():
            values += map(codec.state, codec.objects[group][len(values) :])
    head = {
        "schema": schema(),
        "lives": kernel.world is not None,
        "next_ino": kernel.next_ino,
        "tids": sorted(table_of(kernel).tids()),
        "real": _real(kernel),
        "objects": {group.__name__: len(codec.objects[group]) for group in SHARED},
        "alone": alone,
    }
    lines: list[Any] = [head]
    lines += [{"cgroups": tree[n : n + _TOGETHER]} for n in range(0, len(tree), _TOGETHER)]
    lines += [{"gone": codec.gone}]
    for group, values in records.items():
        for n in range(0, len(values), _TOGETHER):
            lines.append({"group": group.__name__, "records": values[n : n + _TOGETHER]})
    return lines


def _real(kernel: Kernel) -> list[list[int]]:
    """Each task in a cgroup that is a real one, with its process."""
    table = table_of(kernel).tids()
    subtree = [cgroup for hierarchy in kernel.hierarchies for cgroup in _in_order(hierarchy.root)]
    found = {tid: tgid for cgroup in subtree for tid, tgid in cgroup.tasks.items() if tid not in table}
    return [[tid, tgid] for tid, tgid in sorted(found.items())]


def tasks_of(lines: list[Any]) -> set[int]:
    """The tasks that a state which was saved has."""
    return {*lines[0]["tids"], *(tid for tid, _ in lines[0]["real"])}


class _Saving(Codec):
    """Takes note of cgroups that are removed, but still have a zombie."""

    def __init__(self) -> None:
        super().__init__(KINDS)
        self.gone: list[Any] = []

    def number_of(self, one: Any) -> int:
        if isinstance(one, Cgroup) and one.dead and not self.knows(one):
            assert one.parent is not None
            self.gone.append([self.number_of(one.parent), one.name, one.ino])
            self.give(one)
        return super().number_of(one)


def _in_order(root: Cgroup) -> Iterator[Cgroup]:
    """Parents before children, these in their order."""
    stack = [root]
    while stack:
        cgroup = stack.pop()
        yield cgroup
        stack += reversed(cgroup.children.values())


def _entry(codec: Codec, number: int, cgroup: Cgroup) -> list[Any]:
    """A cgroup: hierarchy, parent, name, inode number, owner of csses, csses (1: it is made), files."""
    return [
        number,
        -1 if cgroup.parent is None else codec.number_of(cgroup.parent),
        cgroup.name,
        cgroup.ino,
        list(cgroup.owner),
        [[name, int(name in cgroup.made_for)] for name in cgroup.csses],
        list(cgroup.files),
    ]


# -- reading ----------------------------------------------------------------------------------------


def is_current(lines: list[Any]) -> bool:
    """True if the state has the fields that this version has."""
    return bool(lines) and isinstance(lines[0], dict) and lines[0].get("schema") == schema()


def tids_of(lines: list[Any]) -> tuple[list[int], list[tuple[int, int]]]:
    """The tasks that exist in the model only, and the real ones in cgroups with their processes. Raises StateError."""
    tids, real = lines[0].get("tids"), lines[0].get("real")
    if not isinstance(tids, list) or not isinstance(real, list) or not all(map(_is_tid, tids)):
        raise StateError("the tasks are missing")
    if not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_tid, pair)) for pair in real):
        raise StateError("the real tasks are missing")
    return tids, [(tid, tgid) for tid, tgid in real]


def _is_tid(value: Any) -> bool:
    return type(value) is int and 0 < value < 1 << 31


def load(kernel: Kernel, lines: list[Any], tids: Callable[[int], int]) -> None:
    """Give a fresh kernel, with the same hierarchies, the state that was saved.

    `tids` gives the number of each task here, 0 for none. Raises StateError for what is no state. Other exceptions say
    so too: the state does not hold together.
    """
    head = lines[0]
    if head.get("lives") is True:
        kernel.advance_ns(0)
    codec = Codec(KINDS, tids)
    cgroups = [entry for line in lines[1:] if "cgroups" in line for entry in line["cgroups"]]
    for entry in cgroups:
        _make(kernel, codec, entry)
    for line in lines[1:]:
        for parent, name, ino in line.get("gone", ()):
            above = codec.objects[Cgroup][parent]
            codec.give(Cgroup(_ino(ino), 0, above.hierarchy, above, _name(name, above.hierarchy)))
    counts = head.get("objects")
    if not isinstance(counts, dict):
        raise StateError("the objects are missing")
    records: dict[type, list[Any]] = {group: [] for group in (*SHARED, *GIVEN)}
    for line in lines[1:]:
        if "group" in line:
            group = next((one for one in records if one.__name__ == line["group"]), None)
            if group is None:
                raise StateError("there is no such group of records")
            records[group] += line["records"]
    for group in SHARED:
        if counts.get(group.__name__) != len(records[group]):
            raise StateError(f"records of {group.__name__} are missing")
        codec.reserve(group, len(records[group]))
    for group, values in records.items():
        if len(values) != len(codec.objects[group]):
            raise StateError(f"records of {group.__name__} are missing")
        for one, its in zip(codec.objects[group], values, strict=True):
            codec.fill(one, its)
    saved = head["alone"]
    for name, one in _alone(kernel).items():
        if name in saved:
            codec.fill(one, saved[name], _class_of(one))
        elif name != "affinities":
            raise StateError(f"the state of {name} is missing")
    kernel.next_ino = _ino(head["next_ino"])
    for hierarchy in kernel.hierarchies:
        hierarchy.release_agent_of = None  # a path of another machine


def _make(kernel: Kernel, codec: Codec, entry: Any) -> None:
    """Make a cgroup with its csses and its files."""
    number, above, name, ino, owner, csses, files = entry
    hierarchy = kernel.hierarchies[number]
    if above == -1:
        cgroup = hierarchy.root
        if ino != cgroup.ino:
            raise StateError("a root has another inode")
    else:
        parent = codec.objects[Cgroup][above]
        if parent.hierarchy is not hierarchy or parent.children.get(name) or above < 0:
            raise StateError("a cgroup is there twice, or in another hierarchy")
        cgroup = Cgroup(_ino(ino), 0, hierarchy, parent, _name(name, hierarchy))
        parent.add_child(cgroup)
        cgroup.owner = _id(owner[0]), _id(owner[1])
    codec.give(cgroup)
    fresh = dict(zip(cgroup.made_for, cgroup.made, strict=True))
    cgroup.made = cgroup.made_for = ()
    cgroup.promised = hierarchy.promise({controller for controller, made in csses if not made})
    for controller, made in csses:
        if made:
            css = fresh.get(controller)
            if css is None:
                above_it = None if cgroup.parent is None else cgroup.parent.csses.get(controller)
                css = hierarchy.controllers[controller].css(cgroup, above_it)
            cgroup.csses[controller] = css
            codec.give(css)
    for file_name in files:
        file = cgroup.file(file_name)
        if file is None:
            raise StateError("a file is not there")
        codec.give(file)


def _ino(value: Any) -> int:
    if type(value) is not int or not 0 < value < 1 << 62:
        raise StateError("a number of an inode is missing")
    return value


def _id(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise StateError("an owner is missing")
    return value


def _name(value: Any, hierarchy: Hierarchy) -> str:
    if not isinstance(value, str) or not is_name(value, legacy=not hierarchy.dfl):
        raise StateError("a cgroup has no name")
    return value


def check(kernel: Kernel) -> None:
    """Check that counts and references fit the tree. Raises StateError."""
    tasks = set(table_of(kernel).tids())
    inodes: set[int] = set()
    for hierarchy in kernel.hierarchies:
        order = list(_in_order(hierarchy.root))
        below = dict.fromkeys(order, 0)
        populated = {cgroup: int(bool(cgroup.tasks)) for cgroup in order}
        threaded = dict.fromkeys(order, 0)
        for cgroup in reversed(order):
            parent = cgroup.parent
            if parent is not None:
                below[parent] += below[cgroup] + 1
                populated[parent] += populated[cgroup] > 0
                threaded[parent] += cgroup.threaded
            counted = (cgroup.nr_descendants, cgroup.nr_populated, cgroup.nr_threaded_children)
            if counted != (below[cgroup], populated[cgroup], threaded[cgroup]) or cgroup.dead:
                raise StateError("the counts of a cgroup do not fit")
            if not tasks.issuperset((*cgroup.tasks, *cgroup.zombies)) or (cgroup.tasks and parent is None):
                raise StateError("a cgroup has a task that is not there")
            if cgroup.ino in inodes or cgroup.ino + INO_STRIDE > kernel.next_ino:
                raise StateError("an inode is there twice")
            inodes.add(cgroup.ino)
