"""What of a process's memory is certainly charged to a cgroup.

A kernel charges a page to the cgroup that its process is in when it touches it, and leaves it there. So what a process
had when it came into a cgroup, and what it inherits of that by fork(2), is not counted, until it executes another
program. Where two counts differ the lesser is certain.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field

from fakecgroup_mount.enforce.footprint import Footprint


@dataclass(slots=True)
class _Entry:
    """A process: its program, and the bytes that it had when it came into each cgroup that it is in.

    `most` is the most that was, by program: a child may have been forked before its parent has freed it. `exact` says
    that all was counted page by page.
    """

    image: object
    exact: bool = True
    before: dict[Hashable, int] = field(default_factory=dict)
    most: dict[object, dict[Hashable, int]] = field(default_factory=dict)


class Ledger:
    """The processes of a tree, by pid."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}

    def __contains__(self, tgid: int) -> bool:
        return tgid in self._entries

    def begin(self, tgid: int, image: object, maker: int | None) -> None:
        """Notes a new process. `maker` is the parent of one that was forked in the cgroup that it is in.

        What a program has that its parent never ran is not known to be charged.
        """
        parent = None if maker is None else self._entries.get(maker)
        inherited = parent.most.get(image, {}) if parent is not None else {}
        self._entries[tgid] = _Entry(image, parent.exact if parent is not None else True, dict(inherited))

    def place(
        self,
        tgid: int,
        cgroups: Collection[Hashable],
        stayed: Collection[Hashable],
        anon: int,
        *,
        exact: bool = True,
    ) -> None:
        """Notes the cgroups that a process is in, and above, with `anon` bytes, which may not be `exact`. It has
        `stayed` in some of them.
        """
        entry = self._entries[tgid]
        had = entry.before
        if any(one not in had or one not in stayed for one in cgroups):
            entry.exact = exact
        entry.before = {one: had[one] if one in had and one in stayed else anon for one in cgroups}
        most = entry.most.setdefault(entry.image, {})
        for one, bytes_before in entry.before.items():
            most[one] = max(most.get(one, 0), bytes_before)

    def keep(self, tgids: Collection[int]) -> None:
        """Forgets all other processes."""
        for tgid in self._entries.keys() - tgids:
            del self._entries[tgid]

    def renew(self, tgid: int, image: object) -> None:
        """Notes the program of a process. That of another one is charged where it is now."""
        entry = self._entries[tgid]
        if image != entry.image and image is not None:
            entry.image = image
            entry.exact = True
            entry.before = dict.fromkeys(entry.before, 0)
            entry.most[image] = dict(entry.before)

    def before(self, tgid: int, cgroup: Hashable) -> int | None:
        """Bytes that a process had when it came into a cgroup; None if it is not there."""
        return self._entries[tgid].before.get(cgroup)

    def is_exact(self, tgids: Collection[int]) -> bool:
        """Whether it is known to the page what these processes had when they came."""
        return all(self._entries[tgid].exact for tgid in tgids)

    def certain(self, tgid: int, cgroup: Hashable, found: Footprint) -> int:
        """Bytes that a process has certainly charged to a cgroup, at a precise look."""
        self.renew(tgid, found.image)
        entry = self._entries[tgid]
        if not found.swap:  # what comes back from swap would look like growth
            entry.before = {place: min(had, found.anon) for place, had in entry.before.items()}
        return min(found.share, max(0, found.anon - entry.before.get(cgroup, found.anon)))
