"""A snapshot without names: those of cgroups and processes, command lines and pids become others."""

from __future__ import annotations

import re
from dataclasses import replace

from ..base_files.attach import PID_FILES
from ..other_names import OtherNames, listed, other_numbers
from .content import NO_XATTRS, Attributes, SeenCgroup, SeenFile, SeenHierarchy, SeenProcess, Snapshot


def redact(snapshot: Snapshot, key: bytes) -> Snapshot:
    """The same snapshot without names. The model's state, which has names everywhere, is left out."""
    names = OtherNames(key, _numbers(snapshot))
    left_out = [re.sub(r" \(.*\)", "", line) for line in snapshot.left_out]
    if snapshot.state:
        left_out.append("the state of the model: it is not redacted")
    return replace(
        snapshot,
        hierarchies=[_hierarchy(one, names) for one in snapshot.hierarchies],
        processes={new.pid: new for new in (_process(one, names) for one in snapshot.processes.values())},
        machine=replace(snapshot.machine, interfaces=tuple(map(names.text, snapshot.machine.interfaces))),
        left_out=left_out,
        redacted=True,
        state=[],
    )


def _numbers(snapshot: Snapshot) -> dict[int, int]:
    """Other numbers for all tasks."""
    found = {tid for one in snapshot.processes.values() for tid in (one.pid, *one.threads)}
    for _, cgroup in snapshot.cgroups():
        for name in PID_FILES & cgroup.files.keys():
            found.update(listed(cgroup.files[name].data or b""))
    return other_numbers(found)


def _hierarchy(seen: SeenHierarchy, names: OtherNames) -> SeenHierarchy:
    return replace(seen, name=names.text(seen.name), cgroups=[_cgroup(cgroup, names) for cgroup in seen.cgroups])


def _cgroup(seen: SeenCgroup, names: OtherNames) -> SeenCgroup:
    path = "/".join(map(names.text, seen.path.split("/")))
    files = {name: _file(name, file, names) for name, file in seen.files.items()}
    return SeenCgroup(path, _attributes(seen.attributes, names), files)


def _file(name: str, seen: SeenFile, names: OtherNames) -> SeenFile:
    data = None if seen.data is None else names.shown(name, seen.data)
    return SeenFile(data, seen.error, _attributes(seen.attributes, names))


def _attributes(seen: Attributes, names: OtherNames) -> Attributes:
    if not seen.xattrs:
        return seen
    return replace(
        seen, xattrs={names.attribute(name): names.data(value) for name, value in seen.xattrs.items()} or NO_XATTRS
    )


def _process(seen: SeenProcess, names: OtherNames) -> SeenProcess:
    return replace(
        seen,
        pid=names.pid(seen.pid),
        name=seen.name if seen.kernel else names.comm(seen.name),
        command=tuple(map(names.opaque, seen.command)),
        threads=tuple(map(names.pid, seen.threads)),
    )
