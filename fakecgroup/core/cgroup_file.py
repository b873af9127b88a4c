"""The inode of an interface file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernfs.inode import Inode

if TYPE_CHECKING:
    from .baseline import Baseline
    from .cftype import CFType
    from .cgroup import Cgroup
    from .css import Css


class CgroupFile(Inode):
    """An interface file: its row, its cgroup, and its css (None for a file of the core).

    It is made on the first lookup.
    """

    notified_at: int = -1 << 62  # ns: time of the last event
    notify_pending: bool = False  # an event is pending
    has_trigger: bool = False  # a pressure trigger was set on it
    baseline: Baseline | None = None  # what its counts began with
    events: int  # notifications so far; kernfs starts at 1, so that a first poll is an event
    removed: bool

    def __init__(self, ino: int, now: int, row: CFType, cgroup: Cgroup, css: Css | None) -> None:
        super().__init__(ino, now)
        self.row = row
        self.cgroup = cgroup
        self.css = css
        self.subject: Css | Cgroup = cgroup if css is None else css
        self.events = 1
        self.removed = False
        self.mode = row.permissions
        self.uid, self.gid = self.subject.owner

    @property
    def alive(self) -> bool:
        return not self.removed

    @property
    def seen_by_inotify(self) -> bool:
        """True if inotify(7) sees its events. 5.10 wakes only those who poll for an event of a pressure trigger."""
        return not self.has_trigger or self.cgroup.hierarchy.personality.at_least(6, 12)

    @property
    def nlink(self) -> int:
        return 0 if self.removed and self.cgroup.hierarchy.personality.at_least(7, 2) else 1
