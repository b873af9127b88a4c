"""A cgroup: a directory with its csses, its tasks and its children.

Population is counted as in the kernel (cgroup_update_populated). A cgroup counts itself if it has live tasks, plus each
populated child, so a change walks up only until nothing flips.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ..kernfs.inode import DT_DIR, DT_REG, Directory, Inode
from ..kernfs.namehash import name_hash
from ..tasks.usage import CpuTime, Faults, MemoryUse
from .cgroup_file import CgroupFile
from .css import Csses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..effects.stalls import Stalls
    from ..tasks.tid import Tid
    from .cftype import CFType
    from .css import Css
    from .hierarchy import Hierarchy

INT_MAX = 0x7FFFFFFF
NOTIFY_INTERVAL = 12_000_000  # ns: CGROUP_FILE_NOTIFY_MIN_INTV, 10 ms rounded up to jiffies of 4 ms (HZ=250)


class Cgroup(Directory):
    """One cgroup. A value in the class is the default; an instance stores only what differs."""

    owner: tuple[int, int] = (0, 0)  # uid and gid of its core files: of the task that made it
    dead: bool = False
    # unified hierarchy
    subtree_control: frozenset[str] = frozenset()
    max_depth: int = INT_MAX
    max_descendants: int = INT_MAX
    nr_descendants: int = 0
    domain: Cgroup | None = None  # of a threaded cgroup: the domain that its processes belong to
    nr_threaded_children: int = 0
    hidden_marks: frozenset[str] = frozenset()
    # v1
    notify_on_release: bool = False
    clone_children: bool = False
    # (threads?, pid namespace) -> pids, expiry (ns)
    pidlists: Mapping[tuple[bool, int], tuple[tuple[Tid, ...], int]] = MappingProxyType({})
    # tasks
    nr_populated: int = 0
    cpu: Mapping[int, CpuTime] = MappingProxyType({})  # CPU time here and below, by CPU; empty in the root
    cpu_shown: tuple[int, int] = (0, 0)  # ns of user and system time in the last cpu.stat
    memory: MemoryUse = MemoryUse()  # charged by processes, here and below
    memory_here: MemoryUse = MemoryUse()
    faults: Faults = Faults()  # of processes that were here or below when they faulted
    faults_here: Faults = Faults()
    reclaimed: int = 0  # pages of simulated processes that reclaim took, here and below
    stalls: Mapping[str, Stalls] = MappingProxyType({})  # by resource: cpu, memory, io
    freeze: bool = False  # written here: to cgroup.freeze, or to v1's freezer.state
    tasks: dict[Tid, Tid]  # tid -> tgid, in order of arrival; the root has all others
    zombies: dict[Tid, Tid]

    def __init__(self, ino: int, now: int, hierarchy: Hierarchy, parent: Cgroup | None, name: str) -> None:
        super().__init__(ino, now)
        self.hierarchy = hierarchy
        self.parent = parent
        self.name = name
        self.children: dict[str, Cgroup] = {}
        self.csses = Csses(self)
        self.tasks = {}
        self.zombies = {}
        self.files: dict[str, CgroupFile] = {}

    # -- the tree ---------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        return not self.dead

    @property
    def threaded(self) -> bool:
        """True if cgroup.type is "threaded"."""
        return self.domain is not None

    @property
    def is_root(self) -> bool:
        return self.parent is None

    @property
    def nlink(self) -> int:
        if self.dead:
            return 0 if self.hierarchy.personality.at_least(7, 2) else 2
        return 2 + len(self.children)

    @property
    def path(self) -> str:
        """The path from the hierarchy's root, as /proc/PID/cgroup shows it."""
        names = [cgroup.name for cgroup in self.lineage() if not cgroup.is_root]
        return "/" + "/".join(reversed(names))

    def lineage(self) -> Iterator[Cgroup]:
        """This cgroup, its parent, and so on up to the root."""
        cgroup: Cgroup | None = self
        while cgroup is not None:
            yield cgroup
            cgroup = cgroup.parent

    def descendants(self) -> Iterator[Cgroup]:
        """All cgroups below, parents before children."""
        stack = list(self.children.values())
        while stack:
            cgroup = stack.pop()
            yield cgroup
            stack.extend(cgroup.children.values())

    def threaded_below(self) -> list[Cgroup]:
        """The threaded cgroups whose domain this is."""
        if not self.nr_threaded_children:
            return []
        return [cgroup for cgroup in self.descendants() if cgroup.domain is self]

    def effective_css(self, controller: str) -> Css | None:
        """The css in effect here: its own or the nearest ancestor's (cgroup_e_css)."""
        for holder in self.lineage():
            if controller in holder.csses:
                return holder.csses[controller]
        return None

    # -- the directory ----------------------------------------------------------------------------

    def shows(self, row: CFType, controller: str | None) -> bool:
        """True if a row of this hierarchy's table is a file here now."""
        if controller is not None and controller not in self.csses:
            return False
        return row.mark is None or row.mark not in self.hidden_marks

    def file(self, name: str) -> CgroupFile | None:
        """The interface file `name`, made on the first lookup."""
        known = self.files.get(name)
        if known is not None:
            return None if known.removed else known
        entry = self.hierarchy.table(self).get(name)
        if entry is None or self.dead or not self.shows(entry.row, entry.controller):
            return None
        css = self.csses[entry.controller] if entry.controller is not None else None
        made = CgroupFile(self.ino + entry.number, self.hierarchy.now(), entry.row, self, css)
        self.files[name] = made
        return made

    def find(self, name: str) -> Inode | None:
        return self.children.get(name) or self.file(name)

    def name_taken(self, name: str) -> bool:
        """True if a new child cannot have this name. A hidden file keeps its name."""
        entry = self.hierarchy.table(self).get(name)
        return name in self.children or (
            entry is not None and (entry.controller is None or entry.controller in self.csses)
        )

    def entries(self) -> list[tuple[str, int, int]]:
        """Files and children, in the order of the names' hashes."""
        if self.dead:
            return []
        first = self.ino
        files = self.hierarchy.listing(self)
        if not self.children:
            return [(name, first + number, DT_REG) for _, name, number in files]
        signed = not self.hierarchy.personality.at_least(6, 2)
        children = [(name_hash(name, signed), name, 0) for name in self.children]
        return [
            (name, first + number, DT_REG) if number else (name, self.children[name].ino, DT_DIR)
            for _, name, number in sorted([*files, *children])
        ]

    def drop_files(self, names: list[str]) -> None:
        """Remove these files. Open ones answer ENODEV from now on."""
        for name in names:
            gone = self.files.pop(name, None)
            if gone is not None:
                self._remove(gone)

    def _remove(self, file: CgroupFile) -> None:
        """Mark a file as removed. This wakes no poller but that of a pressure trigger (psi_trigger_destroy)."""
        file.removed = True
        if file.has_trigger:
            self.hierarchy.notify(file)

    def show_marked(self, mark: str, names: Iterable[str], visible: bool) -> None:
        """Hide or bring back the files of a mark (cgroup_file_show).

        Their attributes stay. A file that was open when it was hidden answers ENODEV for good.
        """
        if visible == (mark not in self.hidden_marks):
            return
        self.hidden_marks ^= {mark}
        for name in names:
            old = self.files.get(name)
            if old is not None and not visible:
                self._remove(old)
            elif old is not None:
                del self.files[name]
                new = self.file(name)
                assert new is not None
                new.mode, new.uid, new.gid, new.xattrs = old.mode, old.uid, old.gid, old.xattrs
                new.baseline = old.baseline

    def notify(self, name: str) -> None:
        """Notify of an event on one of its files, later if the last was just now (cgroup_file_notify)."""
        known = self.files.get(name)
        if known is None or known.notify_pending:
            return
        wait = known.notified_at + NOTIFY_INTERVAL - self.hierarchy.now()
        if 0 < wait <= NOTIFY_INTERVAL:
            known.notify_pending = True
            self.hierarchy.notify_later(known, wait)
        else:
            self.notify_now(known)

    def notify_now(self, file: CgroupFile) -> None:
        """Notify poll and inotify of an event on one of its files, unless that is removed by now (kernfs_notify)."""
        file.notify_pending = False
        if not file.removed:
            file.notified_at = self.hierarchy.now()
            file.events += 1
            self.hierarchy.notify(file)

    # -- tasks ------------------------------------------------------------------------------------

    @property
    def frozen(self) -> bool:
        """True if it or an ancestor is to freeze. Tasks here stop at once, so nothing is ever freezing."""
        return any(ancestor.freeze for ancestor in self.lineage())

    def processes(self) -> set[int]:
        """The processes with a live task here or below."""
        return {tgid for cgroup in (self, *self.descendants()) for tgid in cgroup.tasks.values()}

    def memory_changed(self, spike: int) -> None:
        """Tell a memory controller here that `memory` has changed, and for a moment was `spike` bytes more."""
        css = self.csses.get("memory")
        if css is not None:
            css.memory_changed(spike)

    # -- population -------------------------------------------------------------------------------

    @property
    def populated(self) -> bool:
        """True if there are live tasks here or below."""
        return self.nr_populated > 0

    def check_for_release(self) -> None:
        """Run the release agent if notify_on_release is set and nothing is here any more (cgroup1_check_for_release).

        The root, with the kernel's own threads, never empties.
        """
        if self.notify_on_release and not (self.is_root or self.populated or self.children or self.dead):
            self.hierarchy.release(self)

    def update_populated(self, up: bool) -> None:
        """Count one more (`up`) or one fewer populated part: its own tasks, or a child."""
        cgroup: Cgroup | None = self
        while cgroup is not None:
            was = cgroup.nr_populated > 0
            cgroup.nr_populated += 1 if up else -1
            if was == (cgroup.nr_populated > 0):
                return
            cgroup.check_for_release()
            cgroup.notify("cgroup.events")
            cgroup = cgroup.parent
