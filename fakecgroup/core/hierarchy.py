"""A hierarchy: a tree of cgroups with the controllers bound to it (the kernel's cgroup_root).

The unified hierarchy and each v1 hierarchy are one class. Two things differ: the table of their files
(`base_files.dfl`, `base_files.legacy`), and the csses of a new child: those that the parent's subtree_control names, on
v1 all.

Five modules import each other, as the kernel's structs point at each other: a `Cgroup` has its hierarchy, its csses and
its files, each of them has its cgroup, and `Hierarchy` and `Membership` are two halves of where tasks are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from errno import EAGAIN, EBUSY, EEXIST, EINVAL, EIO, ENOTDIR, EPERM
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from ..credentials.caller import ROOT
from ..kernfs.inode import Inode
from ..kernfs.namehash import name_key
from ..named_tuple import NamedTuple
from ..refuse import refuse
from .cftype import CFType, Where
from .cgroup import Cgroup
from .cgroup_file import CgroupFile
from .css import Controller, Css
from .own_attributes import keep_apart

if TYPE_CHECKING:
    from ..credentials.caller import Caller
    from ..machine.machine import Machine
    from ..machine.online_cpus import OnlineCpus
    from ..machine.personality import Personality
    from ..tasks.place import Place
    from ..tasks.processes import Processes, TaskInfo
    from ..tasks.tid import Tid
    from .membership import Membership

S_ISGID = 0o2000
S_ISVTX = 0o1000
_PATH_MAX = 4096  # bytes
INO_STRIDE = 256  # inode numbers per cgroup: its own, then one per row of its table


class TableEntry(NamedTuple):
    """A row in a hierarchy's table, its controller (None: the core) and its number."""

    row: CFType
    controller: str | None
    number: int


class Listed(NamedTuple):
    """A file in a directory's listing: its sort key, its name and its number in the table."""

    key: bytes
    name: str
    number: int


class Environment(NamedTuple):
    """What all hierarchies of one kernel share. Times are ns."""

    personality: Personality
    machine: Machine
    cpus: OnlineCpus
    processes: Processes
    membership: Membership
    now: Callable[[], int]  # ns
    notify: Callable[[CgroupFile], None]
    notify_later: Callable[[CgroupFile, int], None]
    gone: Callable[[Inode], None]  # an interface file or a cgroup was removed
    child_changed: Callable[[Cgroup, str], None]  # the child of this name has come, or has gone
    files_changed: Callable[[Cgroup], None]
    release: Callable[[str, str, Caller], None]  # agent, path of the cgroup, caller that set the agent
    next_ino: Callable[[int], int]


class Hierarchy:
    """One mounted cgroup tree."""

    release_agent: str
    _where: dict[Tid, Cgroup]  # tid -> cgroup, for tasks outside the root

    def __init__(
        self,
        environment: Environment,
        controllers: Iterable[Controller],
        core: Callable[[], Iterable[CFType]],
        *,
        dfl: bool,
        name: str = "",
        taken: frozenset[str] = frozenset(),
        options: tuple[str, ...] = (),
    ) -> None:
        self.environment = environment
        self.personality = environment.personality
        self.machine = environment.machine
        self.cpus = environment.cpus
        self.processes = environment.processes
        self.membership = environment.membership
        self.now = environment.now
        self.notify = environment.notify
        self.notify_later = environment.notify_later
        self.gone = environment.gone
        self.child_changed = environment.child_changed
        self.files_changed = environment.files_changed
        self.signed_char = not environment.personality.at_least(6, 2)  # of a name's bytes, for its hash
        self.dfl = dfl
        self.mounted_with(options)
        self.name = name
        self.taken = taken  # controllers that v1 hierarchies took from the unified one
        self.release_agent = ""
        # the caller that set it, with its privileges of that time; None: it is only shown, and never runs
        self.release_agent_of: Caller | None = ROOT
        self.controllers = {controller.name: controller for controller in controllers}
        self.told_of_tasks = tuple(name for name, controller in self.controllers.items() if controller.told_of_tasks)
        self.counts_cpu = dfl or "cpuacct" in self.controllers
        self.counts_memory = "memory" in self.controllers
        self.counts_huge_pages = "hugetlb" in self.controllers and bool(self.machine.huge_pages)
        self._core = core
        self._inheritance: dict[frozenset[str], tuple[Mapping[str, Controller], list[Controller]]] = {}
        self._promises: dict[frozenset[str], Mapping[str, Controller]] = {}
        self._counts = False  # a cgroup has counts of csses
        self._listings: dict[object, list[Listed]] = {}
        self._where = {}
        self.root = Cgroup(environment.next_ino(INO_STRIDE), self.now(), self, None, "")
        keep_apart(self.root)
        self.root.mode = 0o555
        for controller in self.controllers.values():
            self._add_css(self.root, controller, (0, 0))

    @cached_property
    def root_table(self) -> dict[str, TableEntry]:
        """The files that its root may have, by name."""
        return self._table(Where.ROOT)

    @cached_property
    def child_table(self) -> dict[str, TableEntry]:
        """The files that any other cgroup may have, by name."""
        return self._table(Where.CHILD)

    def _table(self, where: Where) -> dict[str, TableEntry]:
        tables: list[tuple[str | None, Iterable[CFType]]] = [(None, self._core())]
        for controller in self.controllers.values():
            tables.append((controller.name, controller.dfl_rows if self.dfl else controller.legacy_rows))
        rows = [(row, owner) for owner, table in tables for row in self._there(list(table), where)]
        return {
            row.name: TableEntry(row, owner, number)
            for number, (row, owner) in enumerate(rows, start=1)
            if row.where & where
        }

    def _there(self, table: list[CFType], where: Where) -> Iterable[CFType]:
        """The rows of a table that the kernel has.

        A learnt kernel has those that were seen, of two rows with one name the one that its rules say. Its rules say it
        too for a table of which nothing was seen, and for huge pages that the machine it was seen on did not have.
        """
        kernel, machine = self.personality, self.machine
        by_rule = [row for row in table if row.exists_in(kernel, machine)]
        seen = kernel.seen(self.dfl)
        names = None if seen is None else seen.root if where is Where.ROOT else seen.child
        if names is None or not any(row.name in names for row in table):
            return by_rule
        ruled = {row.name for row in by_rule}
        sizes = {row.huge_page for row in table if row.name in names}
        return [
            row
            for row in table
            if (row in by_rule if row.name in ruled else row.fits(machine))
            and (row.name in names or (row in by_rule and row.huge_page is not None and row.huge_page not in sizes))
        ]

    def mounted_with(self, options: tuple[str, ...]) -> None:
        """Set the mount options of the unified hierarchy, in the kernel's order."""
        self.options = options
        self.nsdelegate = "nsdelegate" in options  # cgroup namespaces are boundaries of delegation

    @property
    def label(self) -> str:
        """The name of a v1 hierarchy in /proc/PID/cgroup: its controllers, or `name=NAME`."""
        return ",".join(c.legacy_name or c.name for c in self.controllers.values()) or f"name={self.name}"

    def table(self, cgroup: Cgroup) -> dict[str, TableEntry]:
        """All files that a cgroup of this hierarchy may have, by name."""
        return self.root_table if cgroup.parent is None else self.child_table

    def listing(self, cgroup: Cgroup) -> list[Listed]:
        """The files of a cgroup in readdir's order. Cgroups with the same files share one list."""
        key = (cgroup.parent is None, tuple(cgroup.csses), cgroup.hidden_marks)
        known = self._listings.get(key)
        if known is None:
            known = self._listings[key] = sorted(
                Listed(name_key(name, self.signed_char), name, entry.number)
                for name, entry in self.table(cgroup).items()
                if cgroup.shows(entry.row, entry.controller)
            )
        return known

    # -- csses ------------------------------------------------------------------------------------

    def _add_css(self, cgroup: Cgroup, controller: Controller, owner: tuple[int, int]) -> None:
        name, parent = controller.name, cgroup.parent
        css = controller.css(cgroup, parent.csses.get(name) if parent is not None else None)
        if parent is None:
            keep_apart(css)
        self._count(cgroup, -1)
        cgroup.csses[name] = css
        self._count(cgroup, 1)
        if owner != (0, 0):
            css.owner = owner
        try:
            css.online()
        except OSError:
            self.disable(cgroup, controller)
            raise

    def promise(self, names: AbstractSet[str]) -> Mapping[str, Controller]:
        """The promise of csses of these controllers. Cgroups with the same promise share it."""
        key = frozenset(names)
        known = self._promises.get(key)
        if known is None:
            known = self._promises[key] = {name: self.controllers[name] for name in names}
        return known

    def _inherited(self, enabled: frozenset[str]) -> tuple[Mapping[str, Controller], list[Controller]]:
        """Controllers of a new child if its parent has these enabled: with a css on first access, and at once."""
        known = self._inheritance.get(enabled)
        if known is None:
            given = [c for c in self.controllers.values() if not self.dfl or c.name in enabled]
            promised = self.promise({controller.name for controller in given if not controller.at_once})
            known = self._inheritance[enabled] = (promised, [c for c in given if c.at_once])
        return known

    def enable(self, cgroup: Cgroup, controller: Controller, caller: Caller) -> None:
        """Give `cgroup` a css. Its files belong to `caller`."""
        self._add_css(cgroup, controller, (caller.uid, caller.gid))
        self.files_changed(cgroup)
        css = cgroup.csses[controller.name]
        count = len(cgroup.tasks) + len(cgroup.zombies)
        below = [c for c in cgroup.descendants() if controller.name not in c.csses]
        css.adopt_tasks(count + sum(len(c.tasks) + len(c.zombies) for c in below))

    def disable(self, cgroup: Cgroup, controller: Controller) -> None:
        """Take the css and its files away from `cgroup`."""
        cgroup.csses[controller.name].offline()
        self._count(cgroup, -1)
        del cgroup.csses[controller.name]
        self._count(cgroup, 1)
        self.files_changed(cgroup)
        cgroup.drop_files([name for name, entry in self.table(cgroup).items() if entry.controller == controller.name])

    def count_csses(self, cgroup: Cgroup) -> Mapping[str, int]:
        """The csses here and below, by controller. From the first call on they are counted as they come and go."""
        if cgroup.css_counts is None:
            self._counts = True
            cgroup.css_counts = Counter(chain.from_iterable(c.subsystems() for c in (cgroup, *cgroup.descendants())))
        return cgroup.css_counts

    def _count(self, cgroup: Cgroup, change: int) -> None:
        """Count the csses that a cgroup has once more (1), or no longer (-1)."""
        if not self._counts:
            return
        for above in cgroup.lineage():
            if above.css_counts is not None:
                for name in cgroup.subsystems():
                    above.css_counts[name] += change

    def tell_of_tasks(self, name: str, children: Iterable[Cgroup], *, enabled: bool) -> None:
        """Tell a controller of the tasks here and below, whose css changes: it has been enabled for these children of
        one cgroup, or is about to be disabled.
        """
        tids: list[int] = []
        change: tuple[Css, Css] | None = None
        for child in children if name in self.told_of_tasks else ():
            own, above = child.csses[name], child.parent and child.parent.effective_css(name)
            for member in (child, *child.descendants()):
                tids += member.tasks
            if tids and change is None and above:
                change = (above, own) if enabled else (own, above)
        if change is not None:
            source, target = change
            target.attached(tids, source)

    def files_of(self, controller: Controller) -> list[str]:
        """The names of a controller's files in a cgroup other than the root."""
        return [name for name, entry in self.child_table.items() if entry.controller == controller.name]

    # -- directories ------------------------------------------------------------------------------

    def mkdir(self, parent: Cgroup, name: str, mode: int, caller: Caller) -> Cgroup:
        """Make a cgroup (kernel/cgroup/cgroup.c, cgroup_mkdir).

        Raises in this order EINVAL for a newline in the name, EAGAIN over a limit, EEXIST, and what a controller
        refuses it with (`Css.online`).
        """
        if "\n" in name:
            raise refuse(EINVAL)
        if self.dfl:
            self._check_limits(parent)
        if parent.name_taken(name):
            raise refuse(EEXIST)
        cgroup = Cgroup(self.environment.next_ino(INO_STRIDE), self.now(), self, parent, name)
        uid, gid = caller.uid, caller.gid
        mode &= 0o777 | S_ISVTX
        if parent.mode & S_ISGID:
            gid = parent.gid
            mode |= S_ISGID
        if mode != cgroup.mode:
            cgroup.mode = mode
        if (uid, gid) != (0, 0):
            cgroup.uid, cgroup.gid = cgroup.owner = (uid, gid)
        if parent.notify_on_release:
            cgroup.notify_on_release = True
        if parent.clone_children:
            cgroup.clone_children = True
        parent.add_child(cgroup)
        for ancestor in parent.lineage():
            ancestor.nr_descendants += 1
        self.child_changed(parent, name)
        promised, at_once = self._inherited(parent.subtree_control)
        if promised:
            cgroup.promised = promised
        self._count(cgroup, 1)
        try:
            for controller in at_once:
                self._add_css(cgroup, controller, (uid, gid))
        except (OSError, MemoryError):
            self.rmdir(cgroup)
            raise
        return cgroup

    def _check_limits(self, parent: Cgroup) -> None:
        """Check cgroup.max.descendants and cgroup.max.depth of every ancestor (cgroup_check_hierarchy_limits).

        Raises EAGAIN.
        """
        for level, cgroup in enumerate(parent.lineage(), start=1):
            if cgroup.nr_descendants >= cgroup.max_descendants or level > cgroup.max_depth:
                raise refuse(EAGAIN)

    def rmdir(self, cgroup: Cgroup) -> None:
        """Remove an empty cgroup. Raises EBUSY for the root, and for a cgroup with live tasks or children."""
        self.prune(cgroup)
        if cgroup.parent is None or cgroup.populated or cgroup.children:
            raise refuse(EBUSY)
        parent = cgroup.parent
        self._count(cgroup, -1)
        cgroup.dead = True
        cgroup.drop_files(list(cgroup.files))
        for css in cgroup.csses.made():
            css.offline()
        parent.remove_child(cgroup.name)
        if cgroup.threaded:
            parent.nr_threaded_children -= 1
        for ancestor in parent.lineage():
            ancestor.nr_descendants -= 1
        self.gone(cgroup)
        self.child_changed(parent, cgroup.name)
        parent.check_for_release()

    def release(self, cgroup: Cgroup) -> None:
        """Run the release agent, if there is one (cgroup1_release_agent).

        For a path of 4096 bytes or more 5.10 runs none; later kernels pass its beginning (kernfs_path_from_node).
        """
        path = os.fsencode(cgroup.path)
        setter = self.release_agent_of
        if self.release_agent and setter is not None and (len(path) < _PATH_MAX or self.personality.at_least(6, 1)):
            self.environment.release(self.release_agent, os.fsdecode(path[: _PATH_MAX - 1]), setter)

    def rename(self, inode: Inode, parent: Cgroup, new_parent: Cgroup, name: str, flags: int) -> None:
        """Rename a cgroup within its parent, on v1 (cgroup1_rename).

        Raises in this order EINVAL for flags, EPERM on the unified hierarchy, EINVAL for a newline in the name, ENOTDIR
        for a file, EIO for another parent, EEXIST.
        """
        if flags:
            raise refuse(EINVAL)
        if self.dfl:
            raise refuse(EPERM)
        if "\n" in name:
            raise refuse(EINVAL)
        if not isinstance(inode, Cgroup):
            raise refuse(ENOTDIR)
        if parent is not new_parent:
            raise refuse(EIO)
        if parent.name_taken(name):
            raise refuse(EEXIST)
        old = inode.name
        parent.remove_child(old)
        self.child_changed(parent, old)
        inode.name = name
        parent.add_child(inode)
        self.child_changed(parent, name)

    # -- tasks ------------------------------------------------------------------------------------

    def cgroup_of(self, tid: int) -> Cgroup:
        """The cgroup of a task. A task that was never moved is in the root."""
        return self._where.get(tid, self.root)

    def locate(self, task: TaskInfo) -> Cgroup:
        """The cgroup of a task. A new thread is adopted where its process is."""
        if task.tid != task.tgid and task.tid not in self._where:
            leaders = self.cgroup_of(task.tgid)
            if leaders.parent is not None:
                self._adopt_threads(task.tgid, self.processes.threads(task.tgid), leaders)
        return self.cgroup_of(task.tid)

    def adopt_threads(self, tgid: int, live: Iterable[int]) -> None:
        """Put new threads of a process where their maker is."""
        leaders = self.cgroup_of(tgid)
        if leaders.parent is not None or self.membership.maker(tgid) != tgid:
            self._adopt_threads(tgid, live, leaders)

    def pin_threads(self, tgid: int, live: Iterable[int]) -> list[int]:
        """Put new threads where their leader is, in the root too. Returns the threads that this put into the root."""
        leaders = self.cgroup_of(tgid)
        if leaders.parent is not None:
            self._adopt_threads(tgid, live, leaders)
            return []
        pinned = [tid for tid in live if tid != tgid and tid not in self._where]
        self._where.update(dict.fromkeys(pinned, leaders))
        return pinned

    def unpin_threads(self, pinned: Iterable[int]) -> None:
        for tid in pinned:
            if self._where.get(tid) is self.root:
                del self._where[tid]

    def _adopt_threads(self, tgid: int, live: Iterable[int], cgroup: Cgroup) -> None:
        """Put new threads where their maker is, if that is known, else into `cgroup`, where their leader is."""
        cgroup = self._where.get(self.membership.maker(tgid), cgroup)
        for tid in live:
            if tid != tgid and tid not in self._where:
                if cgroup.parent is not None:
                    self._charge(cgroup, 1)
                self._enter(tid, tgid, cgroup)

    def place_of(self, tid: int, tgid: int) -> Cgroup:
        """The cgroup of a thread. A new one is where its leader is."""
        return self._where.get(tid) or self.cgroup_of(tgid)

    def move(self, tid: int, tgid: int, cgroup: Cgroup) -> None:
        """Move one task into `cgroup`."""
        source = self.cgroup_of(tid)
        if source is cgroup:
            return
        if tid == tgid:
            for other in self.processes.threads(tgid):  # the other threads stay, unless they are moved too
                if other != tid and other not in self._where:
                    if source.parent is not None:
                        self._charge(source, 1)
                    self._enter(other, tgid, source)
        if cgroup.parent is not None:
            self.processes.watch(tgid)
        self._recharge(source, cgroup)
        self._where.pop(tid, None)
        self._enter(tid, tgid, cgroup)  # before it leaves the source (css_set_move_task)
        source.remove_task(tid)

    def can_attach(self, tids: Collection[int], cgroup: Cgroup, writer: Caller | None = None) -> None:
        """Check that these tasks may move to `cgroup` (cgroup_migrate_execute). Raises the refusal.

        `writer` is the task that moves them; None if they come by themselves.
        """
        sources = list({id(source): source for source in map(self.cgroup_of, tids)}.values())
        for name in self.controllers:
            css = cgroup.effective_css(name)
            if css is not None and any(source.effective_css(name) is not css for source in sources):
                css.can_attach()
                if writer is not None:
                    css.can_be_moved_by(tids, sources[0], writer)

    def can_fork(self, source: Cgroup, cgroup: Cgroup) -> None:
        """Check that a task of `source` may fork into `cgroup`. Raises the refusal."""
        for name in self.controllers:
            css = cgroup.effective_css(name)
            if css is not None:
                if source.effective_css(name) is not css:
                    css.can_attach()
                css.can_fork()

    def fork(self, cgroup: Cgroup, tid: int, tgid: int) -> None:
        """Start a new task in `cgroup`."""
        if cgroup.parent is not None:
            self._charge(cgroup, 1)
        self._enter(tid, tgid, cgroup)

    def tell_started(self, tid: int, source: Cgroup, cgroup: Cgroup) -> None:
        """Tell the csses of `cgroup` of a task that one of `source` has started there."""
        for name in self.told_of_tasks:
            css = cgroup.effective_css(name)
            if css is not None and css is not source.effective_css(name):
                css.started(tid)

    def tell_adopted(self, tid: int, cgroup: Cgroup) -> None:
        """Tell the csses of `cgroup` of a task that was found there."""
        for name in self.told_of_tasks if cgroup.parent is not None else ():
            css = cgroup.effective_css(name)
            if css is not None:
                css.adopted(tid)

    def adopt(self, task: TaskInfo, place: Place) -> None:
        """Put the leader of a process that was forked at `place` there; it may be a zombie already."""
        assert isinstance(place, Cgroup)  # what `Processes.follow` was given
        cgroup = place
        while cgroup.dead and cgroup.parent is not None:
            cgroup = cgroup.parent
        if cgroup.parent is None or task.tid in self._where:
            return
        self._charge(cgroup, 1)
        if task.zombie:
            self._where[task.tid] = cgroup
            cgroup.add_zombie(task.tid, task.tgid)
            self.membership.entered(task.tid, task.tgid)
            self.membership.css_sets.exited(task.tid)
            self._adopt_threads(task.tgid, self.processes.threads(task.tgid), cgroup)
        else:
            self._enter(task.tid, task.tgid, cgroup)

    def _enter(self, tid: int, tgid: int, cgroup: Cgroup) -> None:
        if cgroup.parent is None:
            if tid != tgid:  # else it would count as a new thread, and follow its leader
                self._where[tid] = cgroup
        else:
            self._where[tid] = cgroup
            cgroup.add_task(tid, tgid)
        self.membership.entered(tid, tgid)

    def _recharge(self, source: Cgroup, target: Cgroup) -> None:
        """Charge a task that moves to its new csses. A css that accounts for both cgroups is left out
        (cgroup_migrate_execute).

        The new css is charged before the old one is relieved: pids.peak sees both (pids_can_attach).
        """
        for name in self.controllers:
            old, new = source.effective_css(name), target.effective_css(name)
            if old is new:
                continue
            if new is not None and target.parent is not None:
                new.charge_task(1)
            if old is not None and source.parent is not None:
                old.charge_task(-1)

    def _charge(self, cgroup: Cgroup, count: int) -> None:
        """Charge `count` tasks to each css that accounts for this cgroup: its own, or the nearest ancestor's."""
        for name in self.controllers:
            css = cgroup.effective_css(name)
            if css is not None:
                css.charge_task(count)

    def task_exited(self, tid: int) -> None:
        """Note that a task is dead: it is no longer listed, but a leader is charged until it is reaped."""
        self.membership.css_sets.exited(tid)
        if self.membership.on_task is not None:
            self.membership.on_task("exit", tid, tid, ())
        self.membership.moved_threads.discard(tid)
        cgroup = self._where.get(tid)
        if cgroup is None:
            return
        if tid not in cgroup.tasks:
            if cgroup.parent is None:
                del self._where[tid]
            return
        tgid = cgroup.remove_task(tid)
        if tid == tgid:
            cgroup.add_zombie(tid, tgid)
        else:
            self._where.pop(tid)
            self._charge(cgroup, -1)

    def task_reaped(self, tid: int) -> None:
        """Note that a dead task has been waited for."""
        self.membership.css_sets.freed(tid)
        if self.membership.on_task is not None:
            self.membership.on_task("reap", tid, tid, ())
        cgroup = self._where.pop(tid, None)
        if cgroup is not None and cgroup.remove_zombie(tid):
            self._charge(cgroup, -1)

    def prune(self, *cgroups: Cgroup) -> None:
        """Bring the tasks of cgroups up to date: children and threads come and go without a report."""
        self.membership.adopt_forked()
        for cgroup in cgroups:
            self._prune(cgroup)

    def _prune(self, cgroup: Cgroup) -> None:
        if not (cgroup.tasks or cgroup.zombies):
            return
        for tid in [t for t in cgroup.zombies if self.processes.find(t) is None]:
            self.task_reaped(tid)
        by_process: dict[int, list[int]] = {}
        for tid, tgid in cgroup.tasks.items():
            by_process.setdefault(tgid, []).append(tid)
        for tgid in self.processes.changing(by_process.keys()):
            info = self.processes.find(tgid)
            live = set(self.processes.threads(tgid))
            if cgroup.tasks.get(tgid) == tgid:  # new threads are adopted first: they may outlive their leader
                self._adopt_threads(tgid, live, cgroup)
            for tid in [tid for tid in by_process[tgid] if tid not in live]:
                self.task_exited(tid)
                if info is None:
                    self.task_reaped(tid)

    def members(self, cgroup: Cgroup) -> list[tuple[int, int]]:
        """(tid, tgid) of the live tasks in a cgroup, in order of arrival; on the unified hierarchy set by set
        (css_task_iter_advance).
        """
        if cgroup.parent is not None:
            self.prune(cgroup)
            return self._by_sets(cgroup, cgroup.tasks)
        self.membership.adopt_forked()
        found = {
            tid: tgid
            for tgid in self.processes.all()
            for tid in self.processes.threads(tgid)
            if self.cgroup_of(tid) is cgroup
        }
        # As long as tids have not wrapped, a lower one is the older task.
        back = self.membership.css_sets.back
        arrivals = [(tid, 0, tid) for tid in found.keys() - back.keys()]
        arrivals += [(since, n, tid) for n, (tid, since) in enumerate(back.items(), start=1) if tid in found]
        return self._by_sets(cgroup, {tid: found[tid] for _, _, tid in sorted(arrivals)})

    def _by_sets(self, cgroup: Cgroup, members: Mapping[int, int]) -> list[tuple[int, int]]:
        if not self.dfl:
            return list(members.items())
        return [(tid, members[tid]) for tid in self.membership.css_sets.threads(cgroup, members)]

    def leaders(self, cgroup: Cgroup) -> list[int]:
        """The leaders of the processes in a cgroup of the unified hierarchy, and in the threaded cgroups of its domain.

        In each set, processes whose leader has ended before its threads come last (css_task_iter_advance).
        """
        self.prune(*cgroup.threaded_below())
        members = self.members(cgroup)
        initial: list[int] = []
        if cgroup.parent is None:
            live = [tid for tid, tgid in members if tid == tgid]
            known = self.membership.css_sets
            ended = sorted(tgid for tgid in {tgid for _, tgid in members} - set(live) if self.cgroup_of(tgid) is cgroup)
            initial = [tgid for tgid in (*live, *ended) if known.is_initial(tgid)]
        return self.membership.css_sets.leaders(cgroup, initial, dict(members))

    def freeze_tasks(self, cgroup: Cgroup) -> None:
        """Stop or continue the processes here and below after a change of what is frozen.

        All threads of a process follow its leader: a single thread cannot be stopped.
        """
        self.membership.adopt_forked()
        subtree = (cgroup, *cgroup.descendants())
        for tgid in [tgid for member in subtree for tid, tgid in member.tasks.items() if tid == tgid]:
            self.membership.freeze(tgid)
        known: set[int] = set()
        while cgroup.frozen and known != (known := cgroup.processes()):  # they may fork until they have stopped
            self.processes.settle_stopped(known)
            self.membership.adopt_forked()
