"""Where two snapshots differ, and how that is told: a line for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from ..base_files import dfl, legacy
from ..base_files.attach import PID_FILES
from ..controllers import CONTROLLERS
from ..named_tuple import NamedTuple
from .content import NOT_READ, SeenCgroup, SeenFile, SeenHierarchy, Snapshot, path_of
from .names import shown

CGROUP_MISSING, CGROUP_ADDED = "cgroup missing", "cgroup added"
FILE_MISSING, FILE_ADDED = "file missing", "file added"
TEXT, ERROR, PIDS, ATTRIBUTES = "text", "error", "pids", "attributes"
_UNREAD = ("EACCES", "EPERM", NOT_READ)
_LONGEST = 60  # letters of a text that is told


class Difference(NamedTuple):
    """One difference. `path` is that of a cgroup's directory, `file` the name of a file in it, if it is about one.

    `before` and `after` are what the two snapshots have. `counts`: the file counts by itself.
    """

    kind: str
    path: str
    file: str = ""
    before: str = ""
    after: str = ""
    counts: bool = False


def compare(before: Snapshot, after: Snapshot) -> list[Difference]:
    """All differences, in the order of the first snapshot. What one of the two could not read is left out."""
    found: list[Difference] = []
    old, new = _by_path(before), _by_path(after)
    for path, (_, cgroup) in old.items():
        if path not in new:
            found.append(Difference(CGROUP_MISSING, path))
            continue
        _, its = new[path]
        found += _attributes(path, "", cgroup, its)
        for name, file in cgroup.files.items():
            if name in its.files:
                found += _file(path, name, file, its.files[name])
            else:
                found.append(Difference(FILE_MISSING, path, name))
        found += [Difference(FILE_ADDED, path, name) for name in its.files if name not in cgroup.files]
    found += [Difference(CGROUP_ADDED, path) for path in new if path not in old]
    return found


def _by_path(snapshot: Snapshot) -> dict[str, tuple[SeenHierarchy, SeenCgroup]]:
    return {path_of(hierarchy, cgroup): (hierarchy, cgroup) for hierarchy, cgroup in snapshot.cgroups()}


def _file(path: str, name: str, before: SeenFile, after: SeenFile) -> Iterator[Difference]:
    yield from _attributes(path, name, before, after)
    if before.error in _UNREAD or after.error in _UNREAD:
        return
    if before.data is None or after.data is None:
        if before.error != after.error:
            yield Difference(ERROR, path, name, before.error or "a text", after.error or "a text")
    elif name in PID_FILES:
        old, new = (str(data.count(b"\n")) for data in (before.data, after.data))
        if old != new:
            yield Difference(PIDS, path, name, old, new)
    elif before.data != after.data:
        old, new = (one.decode("latin-1") for one in (before.data, after.data))
        yield Difference(TEXT, path, name, old, new, counts=counts_by_itself(name))


def _attributes(
    path: str, name: str, before: SeenFile | SeenCgroup, after: SeenFile | SeenCgroup
) -> Iterator[Difference]:
    if before.attributes != after.attributes:
        old, new = before.attributes, after.attributes
        yield Difference(
            ATTRIBUTES,
            path,
            name,
            f"{old.mode:o} {old.uid}:{old.gid} {_names(old.xattrs)}".rstrip(),
            f"{new.mode:o} {new.uid}:{new.gid} {_names(new.xattrs)}".rstrip(),
        )


def _names(xattrs: Iterable[str]) -> str:
    return ",".join(sorted(xattrs))


def counts_by_itself(name: str) -> bool:
    """True for a file whose numbers change without a write: counters, times, pressure."""
    return name in _counting() or (name.startswith("hugetlb.") and name.endswith((".current", ".events")))


@cache
def _counting() -> frozenset[str]:
    tables = [dfl.FILES, legacy.FILES]
    tables += [table for one in CONTROLLERS for table in (one.dfl_rows, one.dfl_base_rows, one.legacy_rows)]
    return frozenset(row.name for table in tables for row in table if row.counts)


# -- telling ----------------------------------------------------------------------------------------


def told(differences: Iterable[Difference], kernel: str) -> list[str]:
    """A line for each kind of difference, of the files of one name together. `kernel` is the name of the one played."""
    groups: dict[tuple[str, str], list[Difference]] = {}
    for one in differences:
        kind = one.kind if one.kind in (FILE_MISSING, FILE_ADDED, ATTRIBUTES) else f"{one.kind} {one.file}"
        groups.setdefault((one.kind, kind), []).append(one)
    return [_line(kind, group, kernel) for (kind, _), group in groups.items()]


def _line(kind: str, group: list[Difference], kernel: str) -> str:
    first = group[0]
    cgroups = len({one.path for one in group})
    path, name = shown(first.path), shown(first.file)
    where = f"in {cgroups} cgroups, first {path}" if cgroups > 1 else f"in {path}"
    files = ", ".join(sorted({shown(one.file) or "the directory" for one in group}))
    if kind == CGROUP_MISSING:
        return f"cgroups that are not there: {len(group)}, first {path}"
    if kind == CGROUP_ADDED:
        return f"cgroups that were not there: {len(group)}, first {path}"
    if kind == FILE_MISSING:
        return f"files that kernel {kernel} of the model does not have {where}: {files}"
    if kind == FILE_ADDED:
        return f"files that were not there {where}: {files}"
    if kind == ATTRIBUTES:
        return f"modes, owners or attributes differ {where}: {files}"
    if kind == PIDS:
        return f"{name} has another number of lines {where}: {first.after}, was {first.before}"
    if kind == ERROR:
        return f"{name} is read with another outcome {where}: {first.after}, was {first.before}"
    return f"{name} reads otherwise {where}: {_short(first.after)}, was {_short(first.before)}"


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")
