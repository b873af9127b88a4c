"""A cgroup: a directory with its csses, its tasks and its children.

Population is counted as in the kernel (cgroup_update_populated). A cgroup counts itself if it has live tasks, plus each
populated child, so a change walks up only until nothing flips.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ..kernfs.inode import DT_DIR, DT_REG, Directory, Inode
from ..kernfs.namehash import name_key
from ..tasks.usage import CpuTime, Faults, MemoryUse
from .cgroup_file import CgroupFile
from .child_order import ChildOrder
from .css import Csses

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping

    from ..effects.stalls import Stalls
    from ..tasks.tid import Tid
    from .cftype import CFType
    from .css import Controller, Css
    from .hierarchy import Hierarchy

INT_MAX = 0x7FFFFFFF
NOTIFY_INTERVAL = 12_000_000  # ns: CGROUP_FILE_NOTIFY_MIN_INTV, 10 ms rounded up to jiffies of 4 ms (HZ=250)
_LARGE = 1000  # children of a cgroup whose order is kept for its next listing
_NONE: Final[Any] = MappingProxyType({})  # shared by all that have no children, files or tasks


class Cgroup(Directory):
    """One cgroup. A value in the class is the default; an instance stores only what differs.

    So a million of them fit. Its dictionaries are made when something is put into them. Nothing refers back to a cgroup
    that was only made, so it is gone as soon as it is removed.
    """

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
    tasks: dict[Tid, Tid] = _NONE  # tid -> tgid, in order of arrival; the root has all others
    zombies: dict[Tid, Tid] = _NONE
    # the tree
    children: dict[str, Cgroup] = _NONE
    order: ChildOrder | None = None  # of many children, from the last listing
    files: dict[str, CgroupFile] = _NONE  # those that were looked up
    promised: Mapping[str, Controller] = _NONE  # for `csses`
    made: tuple[Css, ...] = ()  # likewise; with `made_for` less than half of a dictionary
    made_for: tuple[str, ...] = ()  # their controllers; cgroups share it
    css_counts: Counter[str] | None = None  # by controller, here and below, once somebody has asked

    def __init__(self, ino: int, now: int, hierarchy: Hierarchy, parent: Cgroup | None, name: str) -> None:
        super().__init__(ino, now)
        self.hierarchy = hierarchy
        self.parent = parent
        self.name = name

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

    def add_child(self, child: Cgroup) -> None:
        if not self.children:
            self.children = {}
        self.children[child.name] = child
        if self.order is not None:
            self.order.changed(child.name)

    def remove_child(self, name: str) -> None:
        del self.children[name]
        if not self.children:
            del self.children
            self.order = None
        elif self.order is not None:
            self.order.changed(name)

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
        holder: Cgroup | None = self
        while holder is not None:
            if controller in holder.made_for:
                return holder.made[holder.made_for.index(controller)]
            if controller in holder.promised:
                return holder.csses[controller]
            holder = holder.parent
        return None

    @property
    def csses(self) -> Csses:
        """Its csses by controller."""
        return Csses(self)

    def subsystems(self) -> set[str]:
        """The controllers with a css here, with or without files (cgroup_calc_subtree_ss_mask)."""
        names = set(self.csses)
        return names.union(*(self.hierarchy.controllers[name].depends_on for name in names))

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
        if not self.files:
            self.files = {}
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
        children = self.children
        if not children:
            return [(name, first + number, DT_REG) for _, name, number in files]
        signed = self.hierarchy.signed_char
        if len(children) < _LARGE:
            keyed = [(name_key(name, signed), name, 0) for name in children]
            return [
                (name, first + number, DT_REG) if number else (name, children[name].ino, DT_DIR)
                for _, name, number in sorted([*files, *keyed])
            ]
        if self.order is None:
            self.order = ChildOrder(children, signed)
        order = self.order
        order.update(children)
        found: list[tuple[str, int, int]] = []
        start = 0
        for key, name, number in files:
            end = order.index(key, start)
            found += order.entries(start, end)
            found.append((name, first + number, DT_REG))
            start = end
        return found + order.entries(start)

    def drop_files(self, names: list[str]) -> None:
        """Remove these files. Open ones answer ENODEV from now on."""
        for name in [name for name in names if name in self.files]:
            self._remove(self.files.pop(name))

    def _remove(self, file: CgroupFile) -> None:
        """Mark a file as removed. This wakes no poller but that of a pressure trigger (psi_trigger_destroy)."""
        file.removed = True
        self.hierarchy.gone(file)
        if file.has_trigger:
            self.hierarchy.notify(file)

    def show_marked(self, mark: str, names: Iterable[str], visible: bool) -> None:
        """Hide or bring back the files of a mark (cgroup_file_show).

        Their attributes stay. A file that was open when it was hidden answers ENODEV for good.
        """
        if visible == (mark not in self.hidden_marks):
            return
        self.hidden_marks ^= {mark}
        self.hierarchy.files_changed(self)
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

    def add_task(self, tid: Tid, tgid: Tid) -> None:
        """Take a live task in."""
        if not self.tasks:
            self.tasks = {}
        self.tasks[tid] = tgid
        if len(self.tasks) == 1:
            self.update_populated(True)

    def remove_task(self, tid: Tid) -> Tid | None:
        """Let a live task go. Returns its process, None for a task that is not here."""
        tgid = self.tasks.get(tid)
        if tgid is not None:
            del self.tasks[tid]
            if not self.tasks:
                del self.tasks
                self.update_populated(False)
        return tgid

    def add_zombie(self, tid: Tid, tgid: Tid) -> None:
        if not self.zombies:
            self.zombies = {}
        self.zombies[tid] = tgid

    def remove_zombie(self, tid: Tid) -> bool:
        """True if it was here."""
        if tid not in self.zombies:
            return False
        del self.zombies[tid]
        if not self.zombies:
            del self.zombies
        return True

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
