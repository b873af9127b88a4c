"""The files that list tasks, which are not read at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from ..base_files.attach import PID_FILES
from .content import SeenCgroup, Snapshot

THREADS = ("cgroup.threads", "tasks")
_LONGEST = 10  # digits of a pid


def listed(cgroup: SeenCgroup, *names: str) -> list[int]:
    """The numbers in the first of these files that could be read, without those of other pid namespaces."""
    for name in names:
        file = cgroup.files.get(name)
        if file is not None and file.data is not None:
            return [int(word) for word in file.data.split() if word.isdigit() and len(word) <= _LONGEST and int(word)]
    return []


def processes_of(snapshot: Snapshot) -> list[int]:
    """The processes that the files list."""
    return list(dict.fromkeys(pid for _, cgroup in snapshot.cgroups() for pid in listed(cgroup, "cgroup.procs")))


def settle(snapshot: Snapshot) -> int:
    """Take tasks out of all lists that are not in exactly one cgroup of each hierarchy. Returns how many those are."""
    everywhere: set[int] | None = None
    seen: set[int] = set()
    for hierarchy in snapshot.hierarchies:
        times = Counter(tid for cgroup in hierarchy.cgroups for tid in listed(cgroup, *THREADS))
        seen |= times.keys() | {pid for cgroup in hierarchy.cgroups for pid in listed(cgroup, "cgroup.procs")}
        once = {tid for tid, count in times.items() if count == 1}
        everywhere = once if everywhere is None else everywhere & once
    passing = seen - (everywhere or set())
    _take_out(snapshot, passing)
    return len(passing)


def keep(snapshot: Snapshot, tids: Collection[int]) -> None:
    """Take all other tasks out of all lists."""
    seen = {tid for _, cgroup in snapshot.cgroups() for name in PID_FILES for tid in listed(cgroup, name)}
    _take_out(snapshot, seen.difference(tids))


def _take_out(snapshot: Snapshot, tids: Collection[int]) -> None:
    passing = {str(tid).encode() for tid in tids}
    if passing:
        for _, cgroup in snapshot.cgroups():
            for name in PID_FILES & cgroup.files.keys():
                file = cgroup.files[name]
                if file.data is not None:
                    kept = [line for line in file.data.splitlines(keepends=True) if line.strip() not in passing]
                    cgroup.files[name] = replace(file, data=b"".join(kept))
