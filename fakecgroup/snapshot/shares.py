"""What each process holds of the memory that its cgroup was seen to have.

Of anonymous memory a process has its own, as far as its cgroup has so much. Page cache is nobody's; the model reclaims
it from the processes of its cgroup, so they share it. Other memory stays with the cgroup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.cftype import PAGE_SIZE
from ..core.cgroup import Cgroup
from ..named_tuple import NamedTuple
from .content import SeenCgroup, SeenProcess, Snapshot


class Share(NamedTuple):
    """Pages of anonymous memory, and of files."""

    anon: int = 0
    file: int = 0


class _Amounts(NamedTuple):
    """Bytes of anonymous memory, and of files."""

    anon: int = 0
    file: int = 0

    def plus(self, other: _Amounts) -> _Amounts:
        return _Amounts(self.anon + other.anon, self.file + other.file)

    def less(self, other: _Amounts) -> _Amounts:
        return _Amounts(max(0, self.anon - other.anon), max(0, self.file - other.file))


_NOTHING = _Amounts()


def shares(
    snapshot: Snapshot,
    placed: Mapping[int, Cgroup],
    homes: Mapping[tuple[int, int], Cgroup],
    processes: Mapping[int, SeenProcess],
    memory: int,
) -> dict[int, Share]:
    """What each process holds, by its pid, on a machine with so many bytes of memory.

    `placed` has the cgroups of the model by the ids of those seen, `homes` those of a tid by the number of the
    hierarchy.
    """
    own, number = _own_amounts(snapshot, placed)
    inside: dict[Cgroup, list[SeenProcess]] = {}
    for pid, one in processes.items():
        home = homes.get((pid, number))
        while home is not None and home not in own:
            home = home.parent
        if home is not None and not one.kernel:
            inside.setdefault(home, []).append(one)
    left = memory * 7 // 8 - sum(sum(amounts) for cgroup, amounts in own.items() if cgroup.parent is not None)
    found: dict[int, Share] = {}
    for cgroup, its in inside.items():
        anon, file = own[cgroup]
        if cgroup.parent is None:  # what a fake shows there may be of a machine that has more
            anon = min(anon, max(0, left))
            file = min(file, max(0, left - anon))
        found.update(_divided(anon, file, its))
    return found


def _own_amounts(snapshot: Snapshot, placed: Mapping[int, Cgroup]) -> tuple[dict[Cgroup, _Amounts], int]:
    """What each cgroup has without those below, and the number of the hierarchy that tells; -1 if none does."""
    here: dict[Cgroup, _Amounts] = {}
    below: dict[Cgroup, _Amounts] = {}
    number = -1
    for _, seen in snapshot.cgroups():
        cgroup = placed.get(id(seen))
        amounts = _amounts(seen) if cgroup is not None and cgroup.hierarchy.counts_memory else None
        if cgroup is not None and amounts is not None:
            number = cgroup.hierarchy.membership.hierarchies.index(cgroup.hierarchy)
            here[cgroup] = amounts
            if cgroup.parent is not None:
                below[cgroup.parent] = below.get(cgroup.parent, _NOTHING).plus(amounts)
    return {cgroup: amounts.less(below.get(cgroup, _NOTHING)) for cgroup, amounts in here.items()}, number


def _divided(anon: int, file: int, processes: Sequence[SeenProcess]) -> dict[int, Share]:
    """By what they were seen to have; evenly if nobody could see that."""
    weights = [one.anon for one in processes]
    total = sum(weights)
    if total:
        anon = min(anon, total)
    else:
        weights, total = [1] * len(processes), len(processes)
    return {
        one.pid: Share(anon * weight // total // PAGE_SIZE, file * weight // total // PAGE_SIZE)
        for one, weight in zip(processes, weights, strict=True)
    }


def _amounts(seen: SeenCgroup) -> _Amounts | None:
    """What memory.stat tells of a cgroup and those below; None if it does not."""
    file = seen.files.get("memory.stat")
    if file is None or file.data is None:
        return None
    items = dict(line.partition(b" ")[::2] for line in file.data.splitlines())
    v1 = b"total_rss" in items

    def number(name: bytes) -> int:
        value = items.get(name, b"")
        return int(value) if value.isdigit() and len(value) < 20 else 0

    cached, shmem = (number(b"total_cache"), number(b"total_shmem")) if v1 else (number(b"file"), number(b"shmem"))
    return _Amounts(number(b"total_rss" if v1 else b"anon"), max(0, cached - shmem))
