"""The footprints of processes, each address space once: several may have one, as after vfork(2) and with CLONE_VM."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cmp_to_key
from itertools import groupby

from fakecgroup_mount.enforce.footprint import Footprint, footprint
from fakecgroup_mount.host.shared_memory import order_of_memory

_Seen = tuple[int, Footprint]


def distinct(tgids: Collection[int]) -> Iterator[_Seen]:
    """Looks closely at processes. Of those with one address space, or that cannot be compared, the greatest counts.

    An address space is charged where its oldest process is: one that is shared with a parent elsewhere is left out.
    """
    known = set(tgids)
    seen = [(tgid, found) for tgid in tgids if (found := footprint(tgid)) is not None]
    for _, alike in groupby(sorted(seen, key=_program), key=_program):
        group: list[_Seen] = []
        for tgid, found in sorted(alike, key=cmp_to_key(_by_address_space)):
            if found.parent not in known and order_of_memory(tgid, found.parent) == 0:
                continue
            if group and not order_of_memory(group[-1][0], tgid):
                group[-1] = max(group[-1], (tgid, found), key=lambda one: one[1].share)
            else:
                group.append((tgid, found))
        yield from group


def _program(one: _Seen) -> str:
    """Processes with one address space have one program."""
    return str(one[1].image)


def _by_address_space(one: _Seen, other: _Seen) -> int:
    return order_of_memory(one[0], other[0]) or 0
