"""`Kernel`: the model behind path names, for programs in the same process.

A mount calls `Kernel.vfs` with inodes instead. Both see the same tree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from errno import (
    EACCES,
    EBADF,
    EBUSY,
    EEXIST,
    EINVAL,
    EISDIR,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    ENOTEMPTY,
    EOPNOTSUPP,
    ESRCH,
)
from typing import TYPE_CHECKING, NoReturn

from .controllers import CONTROLLERS
from .controllers.cpuset.css import Cpuset
from .core.cgroup import Cgroup
from .core.cgroup_file import CgroupFile
from .core.css import Controller
from .core.hierarchy import Environment, Hierarchy
from .core.membership import Membership
from .credentials.caller import ROOT, Caller
from .credentials.permission import MAY_EXEC, require
from .kernfs.inode import Directory, Inode, Stat, Symlink, TopDirectory
from .machine import options
from .machine.chosen import read_choice
from .machine.machine import Machine
from .machine.mounts import SYSTEMD_MOUNTS, UNIFIED, V1Mount
from .machine.online_cpus import OnlineCpus
from .machine.personality import Personality
from .named_tuple import NamedTuple
from .outside import affinities
from .outside.proc_files import places
from .outside.simulated_tasks import SimulatedTask, parse_oom_score_adj
from .refuse import refuse
from .simulation.clock import VirtualClock, to_ns
from .tasks.affinity import AffinityTable
from .tasks.joined_processes import JoinedProcesses
from .tasks.process_table import ProcessTable
from .tasks.processes import Processes
from .tasks.usage import NO_TIME, CpuTime
from .vfs.openfile import OpenFile
from .vfs.vfs import RENAME_NOREPLACE, Vfs

if TYPE_CHECKING:
    from .core.cftype import CFType
    from .machine.learnt import LearntKernel
    from .simulation.kill import Kill
    from .simulation.workload import Workload
    from .simulation.world import World

PATH_MAX = 4096
_DOTS = ("", ".", "..")


def _core_of_v1() -> tuple[CFType, ...]:
    from .base_files.legacy import FILES  # takes a while to load

    return FILES


class Setup(NamedTuple):
    """What a `Kernel` is made of. `mounts` are the hierarchies of v1."""

    layout: str
    personality: Personality
    machine: Machine
    mount_options: tuple[str, ...]
    processes: Processes
    mounts: Sequence[V1Mount] = SYSTEMD_MOUNTS
    clock: Callable[[], int] = time.time_ns
    seed: int = 0


class Kernel:
    """A fake kernel's cgroup file system.

    Which kernel. `layout` is "v2" (the root is the unified hierarchy), "v1" (the root is a directory per hierarchy, as
    systemd mounts /sys/fs/cgroup) or "hybrid" (v1 with the unified hierarchy at unified/). `kernel` is a version such
    as "6.12", or a learnt kernel's file if the text has a slash or ends in ".kernel"; None is the layout's default.
    `mount_options` are those of the unified hierarchy; the default is
    systemd's, "nsdelegate,memory_recursiveprot".

    Which machine. `cpus` and `numa_nodes` are counts. `memory` and `swap` are bytes, or text such as "8Gi". `hugepages`
    are sizes and counts, such as "2Mi=64,1Gi=0" or {"2Mi": 64}. `block_devices` are numbers, such as "259:0,259:1" or
    ("259:0", "259:1"). Each argument takes what the command line takes for its option, and None for the default.
    `version` and `huge_pages` are old names of `kernel` and `hugepages`.

    Which tasks. `processes` answers for them; the default is a `ProcessTable`. `clock` gives the time in ns, until
    `spawn` or `advance` makes it virtual. `seed` decides what is random then.

    `restored` says that the tree is a snapshot's; `differs` has a line for each kind of thing in which it differs from
    the snapshot.

    Six attributes are called in the middle of a change, so they may take note, but must not call the model.
    `on_notify(file)`: a poll event on a file. `on_notify_later(file, ns)`: an event that the kernel delays; call the
    cgroup's `notify_now(file)` after this time (the default does at once). `on_release(agent, path, caller)`: a v1
    release agent runs, with the path of the cgroup in its hierarchy, set by this `Caller`. `on_gone(inode)`: an
    interface file or a cgroup was removed. `on_child(cgroup, name)`: its child of this name has come, or has gone.
    `on_files(cgroup)`: files of it have come, or are about to go.

    Raises ValueError that names the argument for a wrong value, an unknown argument, and a kernel without the layout.
    The path methods raise ``OSError`` with the kernel's errno. `caller` is the task that calls, root by default.
    """

    def __init__(
        self,
        layout: str | None = "v2",
        kernel: str | LearntKernel | None = None,
        *,
        cpus: int | str | None = 4,
        numa_nodes: int | str | None = 1,
        memory: int | str | None = 8 << 30,
        swap: int | str | None = 0,
        hugepages: str | Mapping[str, int] | Collection[int] | None = None,
        block_devices: str | Sequence[str] | None = (),
        mount_options: str | Sequence[str] | None = None,
        processes: Processes | None = None,
        clock: Callable[[], int] = time.time_ns,
        seed: int = 0,
        version: str | None = None,
        huge_pages: Collection[int] | None = None,
        **unknown: NoReturn,
    ) -> None:
        old = {name: value for name, value in (("version", version), ("huge_pages", huge_pages)) if value is not None}
        given: dict[str, object] = {
            "layout": layout,
            "kernel": kernel,
            "cpus": cpus,
            "numa_nodes": numa_nodes,
            "memory": memory,
            "swap": swap,
            "hugepages": hugepages,
            "block_devices": block_devices,
            "mount_options": mount_options,
        }
        given = options.current({**given, **old, **unknown}, stacklevel=2)
        if processes is not None and not isinstance(processes, Processes):
            raise ValueError(f"processes: {processes!r} does not have all methods of fakecgroup.Processes")
        if not callable(clock):
            raise ValueError(f"clock: {clock!r} is no function that returns ns")
        chosen = read_choice(given)
        table = processes if processes is not None else ProcessTable()
        self._boot(Setup(*chosen, table, clock=clock, seed=seed))

    @classmethod
    def of(cls, setup: Setup) -> Kernel:
        """The kernel of options that were read before."""
        made = cls.__new__(cls)
        made._boot(setup)
        return made

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        *,
        kernel: str | LearntKernel | None = None,
        processes: Processes | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> Kernel:
        """The tree of a snapshot's file, on its machine: each file reads as it did, counts go on from where they were.

        `kernel` says another kernel than the snapshot's. The processes are simulated. Time stands still until
        `advance`. In what it differs from the snapshot is in `differs`. Raises SnapshotError (a ValueError) for a file
        that is no snapshot, ValueError for a kernel without the snapshot's layout.
        """
        from .snapshot.files import read_snapshot
        from .snapshot.restore import restore

        wanted = None if kernel is None else options.read("kernel", kernel)
        return restore(read_snapshot(path), wanted, processes=processes, clock=clock)

    def snapshot(self, path: str | os.PathLike[str], *, redact: bool = False) -> None:
        """Write the tree as it is now to a file, which `restore` reads. Raises OSError.

        With `redact`, names of cgroups and processes, command lines and pids become others; the state that no file
        shows is left out then.
        """
        from .snapshot.files import redacted, write_snapshot
        from .snapshot.of_kernel import of_kernel

        taken = of_kernel(self)
        write_snapshot(redacted(taken) if redact else taken, path)

    def _boot(self, setup: Setup) -> None:
        self.layout = setup.layout
        self.personality = setup.personality
        self.machine = setup.machine
        self.mount_options = setup.mount_options
        self.mounts = setup.mounts
        self.processes = setup.processes
        self.restored = False
        self.differs: tuple[str, ...] = ()
        self.clock = VirtualClock(setup.clock)
        self._seed = setup.seed
        self.on_notify: Callable[[CgroupFile], None] = lambda file: None
        self.on_notify_later: Callable[[CgroupFile, int], None] = lambda file, wait: file.cgroup.notify_now(file)
        self.on_release: Callable[[str, str, Caller], None] = lambda agent, path, setter: None
        self.on_gone: Callable[[Inode], None] = lambda inode: None
        self.on_child: Callable[[Cgroup, str], None] = lambda cgroup, name: None
        self.on_files: Callable[[Cgroup], None] = lambda cgroup: None
        self.cpus = OnlineCpus(self.machine.cpus)
        self.membership = Membership(self.processes, self.clock)
        if isinstance(self.processes, ProcessTable):
            self.membership.affinities = AffinityTable(self.cpus.possible)
        self.world: World | None = None
        self.next_ino = 1
        self.hierarchies: list[Hierarchy] = self.membership.hierarchies
        self.root: Directory = (
            self._mount_v2() if self.layout == "v2" else self._mount_v1(unified=self.layout == "hybrid")
        )
        self.vfs = Vfs(self.root)

    # -- the trees --------------------------------------------------------------------------------

    def _next_ino(self, width: int) -> int:
        first, self.next_ino = self.next_ino, self.next_ino + width
        return first

    def _environment(self) -> Environment:
        return Environment(
            self.personality,
            self.machine,
            self.cpus,
            self.processes,
            self.membership,
            self.clock,
            lambda file: self.on_notify(file),
            lambda file, wait: self.on_notify_later(file, wait),
            lambda inode: self.on_gone(inode),
            lambda cgroup, name: self.on_child(cgroup, name),
            lambda cgroup: self.on_files(cgroup),
            lambda agent, path, setter: self.on_release(agent, path, setter),
            self._next_ino,
        )

    def _mount_v2(self) -> Cgroup:
        """Mount the unified hierarchy, with every controller that no other hierarchy has."""
        taken = frozenset(name for hierarchy in self.hierarchies for name in hierarchy.controllers)
        controllers = [c for c in CONTROLLERS if c.dfl and self.personality.has(c.config)]
        free = [c for c in controllers if c.name not in taken and self.personality.offers(c.name, dfl=True)]

        def core() -> tuple[CFType, ...]:
            from .base_files.dfl import FILES  # takes a while to load

            return (*FILES, *(row for controller in controllers for row in controller.dfl_base_rows))

        hierarchy = Hierarchy(self._environment(), free, core, dfl=True, taken=taken, options=self.mount_options)
        self.hierarchies.append(hierarchy)
        return hierarchy.root

    def _mount_v1(self, *, unified: bool) -> TopDirectory:
        top = TopDirectory(self._next_ino(1), self.clock())
        for mount in self.mounts:
            bound = [self._bind_v1(name) for name in mount.controllers]
            if None in bound:
                continue
            controllers = [controller for controller in bound if controller is not None]
            hierarchy = Hierarchy(self._environment(), controllers, _core_of_v1, dfl=False, name=mount.name)
            self.hierarchies.append(hierarchy)
            top.content[mount.directory] = hierarchy.root
            for link in mount.links:
                top.content[link] = Symlink(self._next_ino(1), self.clock(), mount.directory)
        if unified:
            top.content[UNIFIED] = self._mount_v2()
        return top

    def _bind_v1(self, name: str) -> Controller | None:
        """The controller, if this kernel is built with its v1 files."""
        for controller in CONTROLLERS:
            if (
                controller.name == name
                and all(map(self.personality.has, (controller.config, controller.legacy_config)))
                and self.personality.offers(controller.legacy_name or name, dfl=False)
            ):
                return controller
        return None

    # -- paths ------------------------------------------------------------------------------------

    def walk(self, path: str, caller: Caller = ROOT, *, follow: bool = True) -> Inode:
        """The inode at `path`, from the root. `follow`: a link at its end is followed.

        Raises ENOENT, ENOTDIR, ENAMETOOLONG, EACCES without search permission.
        """
        if not path:
            raise refuse(ENOENT)
        if len(os.fsencode(path)) >= PATH_MAX:
            raise refuse(ENAMETOOLONG)
        inode: Inode = self.root
        trail: list[Inode] = []
        parts = path.split("/")
        for position, part in enumerate(parts):
            if part in _DOTS and not inode.is_dir:
                raise refuse(ENOTDIR)
            if part in (".", ".."):
                require(inode, MAY_EXEC, caller)
            if part in ("", "."):
                continue
            if part == "..":
                inode = trail.pop() if trail else self.root
                continue
            trail.append(inode)
            inode = self.vfs.lookup(inode, part, caller)
            if isinstance(inode, Symlink) and (follow or position < len(parts) - 1):
                inode = self.walk(inode.target, caller)
        return inode

    def walk_parent(self, path: str, caller: Caller = ROOT, dots: int = EEXIST) -> tuple[Inode, str]:
        """The directory of a path, which must exist, and the last component (fs/namei.c, filename_parentat).

        Raises `dots` for a path that ends in . or .. or has no component.
        """
        parent, name = self._walk_to(path, caller)
        if name in _DOTS:
            raise refuse(dots)
        return parent, name

    def _walk_to(self, path: str, caller: Caller) -> tuple[Inode, str]:
        """The directory of a path and the last component, which may be one of _DOTS."""
        if not path:
            raise refuse(ENOENT)
        if len(os.fsencode(path)) >= PATH_MAX:
            raise refuse(ENAMETOOLONG)
        directory, slash, name = path.rstrip("/").rpartition("/")
        parent = self.walk(directory + slash or ".", caller)
        if not parent.is_dir:
            raise refuse(ENOTDIR)
        if name in (".", ".."):
            require(parent, MAY_EXEC, caller)
        return parent, name

    def open(self, path: str, flags: int = os.O_RDONLY, caller: Caller = ROOT) -> OpenFile:
        """Open an interface file.

        Raises EACCES for a new name with O_CREAT, EEXIST for an existing one with O_EXCL too, and what `Vfs.open` does.
        """
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            if flags & os.O_CREAT or not flags & os.O_ACCMODE:
                raise refuse(EINVAL)
            raise refuse(EOPNOTSUPP if self.walk(path, caller).is_dir else ENOTDIR)
        if flags & os.O_CREAT:
            if path.endswith("/"):
                raise refuse(EISDIR)
            parent, name = self.walk_parent(path, caller, EISDIR)
            try:
                inode = self.vfs.lookup(parent, name, caller)
            except FileNotFoundError:
                self.vfs.create(parent, name, 0o644, caller)
                raise
            if flags & os.O_EXCL:
                raise refuse(EEXIST)
            return self.vfs.open(inode, flags, caller)
        return self.vfs.open(self.walk(path, caller), flags, caller)

    def read(self, path: str, caller: Caller = ROOT) -> str:
        """Read the whole text of a file."""
        file = self.open(path, os.O_RDONLY, caller)
        data = b""
        while chunk := file.read(len(data), 1 << 16):
            data += chunk
        return os.fsdecode(data)

    def write(self, path: str, data: str | bytes, caller: Caller = ROOT) -> None:
        """Write a whole value with one write(2)."""
        self.open(path, os.O_WRONLY, caller).write(os.fsencode(data), caller)

    def listdir(self, path: str = "/", caller: Caller = ROOT) -> list[str]:
        """The names in a directory, in the order of readdir."""
        inode = self.walk(path, caller)
        self.vfs.opendir(inode, caller)
        return [name for name, _, _ in self.vfs.readdir(inode)]

    def stat(self, path: str, caller: Caller = ROOT) -> Stat:
        """The attributes of the inode at `path`. A link is followed."""
        return self.vfs.stat(self.walk(path, caller), caller)

    def mkdir(self, path: str, mode: int = 0o755, caller: Caller = ROOT) -> None:
        """Make a cgroup. Raises what `Vfs.mkdir` does; EEXIST for a path that ends in a dot."""
        parent, name = self.walk_parent(path, caller, EEXIST)
        self.vfs.mkdir(parent, name, mode & 0o1777, caller)

    def rmdir(self, path: str, caller: Caller = ROOT) -> None:
        """Remove a cgroup. Raises what `Vfs.rmdir` does; for a path that ends in . EINVAL, in .. ENOTEMPTY."""
        last = path.rstrip("/").rpartition("/")[2]
        parent, name = self.walk_parent(path, caller, {".": EINVAL, "..": ENOTEMPTY}.get(last, EBUSY))
        self.vfs.rmdir(parent, name, caller)

    def rename(self, path: str, new_path: str, caller: Caller = ROOT, *, flags: int = 0) -> None:
        """Rename a cgroup, on v1; `flags` are those of renameat2(2). Raises what `Vfs.rename` does."""
        self.vfs.check_rename_flags(flags)
        (parent, name), (new_parent, new_name) = self._walk_to(path, caller), self._walk_to(new_path, caller)
        self.vfs.check_same_filesystem(parent, new_parent)
        if name in _DOTS:
            raise refuse(EBUSY)
        if new_name in _DOTS:
            raise refuse(EEXIST if flags & RENAME_NOREPLACE else EBUSY)
        if (path + new_path).endswith("/") or path.endswith("/"):
            self.walk(path.rstrip("/") + "/", caller)  # ENOTDIR for anything but a directory
        self.vfs.rename(parent, name, new_parent, new_name, flags, caller)

    def unlink(self, path: str, caller: Caller = ROOT) -> None:
        """Refuse to remove a file or link, as `Vfs.unlink` does. Raises ENOTDIR for a file with a slash at the end."""
        parent, name = self.walk_parent(path, caller, EISDIR)
        if path.endswith("/"):
            raise refuse(EISDIR if self.vfs.lookup(parent, name, caller).is_dir else ENOTDIR)
        self.vfs.unlink(parent, name, caller)

    def chmod(self, path: str, mode: int, caller: Caller = ROOT) -> None:
        """Set the mode bits. Raises EPERM without ownership, EROFS outside of the hierarchies."""
        self.vfs.setattr(self.walk(path, caller), caller, mode=mode)

    def chown(self, path: str, uid: int, gid: int, caller: Caller = ROOT) -> None:
        """Set owner and group; -1 leaves an id as it is."""
        self.vfs.setattr(
            self.walk(path, caller),
            caller,
            uid=None if uid == -1 else uid,
            gid=None if gid == -1 else gid,
            chown=True,
        )

    # -- tasks ------------------------------------------------------------------------------------

    def cgroup_of(self, pid: int) -> dict[str, str]:
        """The cgroup of a task in each hierarchy, both named as in /proc/PID/cgroup ("" is the unified hierarchy).

        Raises ProcessLookupError (ESRCH) if there is no such task.
        """
        self.membership.adopt_forked()
        task = self.processes.find(pid)
        if task is None:
            raise refuse(ESRCH)
        cgroups = [hierarchy.locate(task) for hierarchy in self.hierarchies]
        roots = [hierarchy.root for hierarchy in self.hierarchies]
        return {"" if one.dfl else one.label: path for one, path in places(task, cgroups, roots)}

    def fork(self, pid: int, *, thread: bool = False) -> int:
        """Fork a child process of `pid`, or with `thread` a thread of its process, in the model's `ProcessTable`.

        Returns its pid. Raises ESRCH, EAGAIN over a pids limit, TypeError if `processes` is no `ProcessTable`.
        """
        return self._fork(pid, thread=thread)

    def clone_into(self, pid: int, path: str, caller: Caller = ROOT) -> int:
        """Fork a child process of `pid` into the cgroup `path` of the unified hierarchy (CLONE_INTO_CGROUP).

        Returns its pid. Raises what opening the directory raises, EBADF for one of a v1 hierarchy, what a write to its
        cgroup.procs raises, EAGAIN over a pids limit, TypeError if `processes` is no `ProcessTable`.
        """
        from .base_files.dfl import vet_clone_into  # takes a while to load

        directory = self.walk(path, caller)
        self.vfs.opendir(directory, caller)
        if not isinstance(directory, Cgroup) or not directory.hierarchy.dfl:
            raise refuse(EBADF)
        vet_clone_into(directory, directory.hierarchy.cgroup_of(pid), caller)
        return self._fork(pid, into=(directory,))

    def forked(self, pid: int, *, thread: bool = False, into: Collection[Cgroup] = ()) -> int:
        """Add a child process or thread of `pid` that is known to be there, so that no limit refuses it.

        It starts in the cgroups `into`, in other hierarchies where `pid` is. Returns its number. Raises ESRCH, and
        TypeError if `processes` is no `ProcessTable`.
        """
        return self._fork(pid, thread=thread, into=into, limited=False)

    def _fork(self, pid: int, *, thread: bool = False, into: Collection[Cgroup] = (), limited: bool = True) -> int:
        if not isinstance(self.processes, ProcessTable):
            raise TypeError("fork is for a Kernel with its own table of processes")
        task = self.processes.find(pid)
        if task is None:
            raise refuse(ESRCH)
        sources = [hierarchy.cgroup_of(pid) for hierarchy in self.hierarchies]
        given = {place.hierarchy: place for place in into}
        places = [given.get(source.hierarchy, source) for source in sources]
        for source, place in zip(sources, places, strict=True) if limited else ():
            place.hierarchy.can_fork(source, place)
        child = self.processes.add(uid=task.uid, suid=task.suid, tgid=task.tgid if thread else None)
        self.processes.grant(child, self.processes.privileges(pid))
        affinities = self.membership.affinities
        if affinities is not None:
            affinities.set(child, affinities.of(pid))
        for source, place in zip(sources, places, strict=True):
            place.hierarchy.fork(place, child, task.tgid if thread else child)
            if source is not place:
                place.hierarchy.tell_started(child, source, place)
        if self.membership.on_task is not None:
            self.membership.on_task("fork", child, task.tgid if thread else child, places)
        return child

    def task_exited(self, tid: int) -> None:
        """Report that a task has died. It may still be a zombie."""
        self.membership.count_process(tid)
        for hierarchy in self.hierarchies:
            hierarchy.task_exited(tid)
        self._forget(tid)

    def task_reaped(self, tid: int) -> None:
        """Report that a dead task has been waited for."""
        self.membership.count_process(tid)
        for hierarchy in self.hierarchies:
            hierarchy.task_reaped(tid)
        self._forget(tid)

    def _forget(self, tid: int) -> None:
        if isinstance(self.membership.affinities, AffinityTable) and self.processes.find(tid) is None:
            self.membership.affinities.forget(tid)

    # -- the machine's CPUs -----------------------------------------------------------------------

    def set_cpu_online(self, cpu: int, online: bool) -> None:
        """Take a CPU of the machine online or offline. Cpusets and tasks follow.

        Raises ValueError for a CPU that is not there, EBUSY to take the last one offline, or the last one of a
        scheduler's domain that 6.12 needs (cpu_down, dl_bw_check_overflow).
        """
        if not 0 <= cpu < self.machine.cpus:
            raise ValueError(f"cpu: {cpu!r} is none of 0 to {self.machine.cpus - 1}")
        if (cpu in self.cpus) == online:
            return
        if not online and self.cpus.online == 1 << cpu:
            raise refuse(EBUSY)
        csses = [css for hierarchy in self.hierarchies for css in hierarchy.root.csses.made()]
        for css in () if online else csses:
            css.vet_offline(cpu)
        self.cpus.set(cpu, online)
        for css in csses:
            css.cpus_changed()
        self._rescue_stranded()

    def _rescue_stranded(self) -> None:
        """Let tasks that have no CPU any more run elsewhere, as they would when they run next."""
        known = self.membership.affinities
        if known is None:
            return
        for tid in known.tids():
            if known.of(tid).stranded(self.cpus.online):
                known.set(tid, affinities.rescued(known.of(tid), self.cpuset_of(tid), self.cpus))

    def cpuset_of(self, tid: int) -> Cpuset | None:
        """The cpuset of a task; None if there is no such task, or no cpuset controller."""
        task = self.processes.find(tid)
        if task is None:
            return None
        found = (hierarchy.place_of(tid, task.tgid).effective_css("cpuset") for hierarchy in self.hierarchies)
        return next((css for css in found if isinstance(css, Cpuset)), None)

    def affinity(self, tid: int) -> int:
        """The CPUs that a task may run on, as a mask (sched_getaffinity(2)). Raises ESRCH.

        All that are online, if nobody keeps the affinities of tasks (`Membership.affinities`).
        """
        if self.processes.find(tid) is None:
            raise refuse(ESRCH)
        known = self.membership.affinities
        return self.cpus.online & (self.cpus.possible if known is None else known.of(tid).mask)

    def set_affinity(self, tid: int, mask: int, caller: Caller = ROOT) -> None:
        """Have a task run on the CPUs of a mask, as far as its cpuset allows them (sched_setaffinity(2)).

        Raises ESRCH, EPERM for another user's task, EINVAL if there is no CPU that it allows and that is online.
        """
        task = self.processes.find(tid)
        if task is None:
            raise refuse(ESRCH)
        affinities.require_right(task, self.processes.privileges(tid), caller)
        known = self.membership.affinities
        if known is not None:
            asked = affinities.asked(known.of(tid), mask, self.cpuset_of(tid), self.cpus, self.personality)
            known.set(tid, asked)

    # -- time ---------------------------------------------------------------------------------------

    def spawn(self, cgroups: str | Sequence[str], workload: Workload, caller: Caller = ROOT) -> list[int]:
        """Start the processes of a workload in a cgroup, on v1 in one of each hierarchy that matters.

        Time passes for them in `advance` alone. Returns their pids. Raises what a write to cgroup.procs raises, and
        TypeError if `processes` is no `ProcessTable` and no `JoinedProcesses`, and ValueError for a block device that
        the machine does not have. Nothing is left of them then.
        """
        for phase in workload.phases:
            if phase.io is not None and phase.io.device not in self.machine.block_devices:
                devices = ", ".join(self.machine.block_devices) or "none"
                raise ValueError(
                    f"no block device {phase.io.device}; there is {devices} (block-devices of the machine)"
                )
        world = self._simulation()
        pids = []
        try:
            for _ in range(workload.instances):
                pids.append(self._table().add())
                world.add(pids[-1], workload)
                for cgroup in [cgroups] if isinstance(cgroups, str) else cgroups:
                    self.write(f"{cgroup.rstrip('/')}/cgroup.procs", str(pids[-1]), caller)
                world.start_threads(pids[-1])
        except OSError:
            for pid in pids:
                world.remove(pid)
            raise
        return pids

    def stand_in(
        self,
        workload: Workload,
        places: Sequence[Sequence[Cgroup]],
        *,
        uid: int = 0,
        used: CpuTime = NO_TIME,
        anon: int = 0,
        file: int = 0,
    ) -> int:
        """Let a process live here from now on that lived elsewhere before: no limit is asked. Returns its pid.

        `places` are the cgroups of each of its threads, one of each hierarchy, the leader's first. It has used CPU time
        and holds pages of anonymous memory and of files, which can be reclaimed; its cgroup is charged for them.
        """
        pid = self._enter(places, uid)
        self.take_over(pid, workload, used=used, anon=anon, file=file)
        return pid

    def take_over(self, pid: int, workload: Workload, *, used: CpuTime = NO_TIME, anon: int = 0, file: int = 0) -> None:
        """Let a process of the table go on where it is, as `stand_in` does."""
        self._simulation().take_over(pid, workload, used, anon, file)
        self.membership.cpu.move(pid, self.membership.places(pid, pid))
        self.membership.place_threads(pid)
        self.membership.freeze(pid)

    def add_kernel_thread(self, places: Sequence[Cgroup]) -> int:
        """Add a thread of the kernel's, which stays where it is. Returns its pid."""
        return self._enter([places], 0, movable=False)

    def _enter(self, places: Sequence[Sequence[Cgroup]], uid: int, *, movable: bool = True) -> int:
        """Add a process with its threads to the table, in these cgroups. Returns its pid."""
        table = self._table()
        tids: list[int] = []
        for cgroups in places:
            tids.append(table.add(uid=uid, tgid=tids[0] if tids else None, movable=movable))
            for cgroup in cgroups:
                cgroup.hierarchy.fork(cgroup, tids[-1], tids[0])
        return tids[0]

    def employ(self, pid: int, workload: Workload) -> None:
        """Let a process of the table live through a workload from now on, where it is. It is waited for by nobody."""
        self._simulation().change(pid, workload)

    def respawn(self, cgroups: Sequence[str], workload: Workload) -> bool:
        """Fork one process of a workload in cgroups, which begins at once. False if a pids limit refuses it.

        True, too, if a cgroup is gone: there is nothing to start again.
        """
        try:
            places = [self.walk(path) for path in cgroups]
        except FileNotFoundError:
            return True
        try:
            for place in places:
                assert isinstance(place, Cgroup)
                place.hierarchy.can_fork(place, place)
        except OSError:
            return False
        pid = self._table().add()
        self._simulation().add(pid, workload, at_once=True)
        for path in cgroups:
            self.write(f"{path.rstrip('/')}/cgroup.procs", str(pid))
        self._simulation().start_threads(pid)
        return True

    def advance(self, seconds: float) -> None:
        """Let time pass: the clock goes on by `seconds`, and simulated processes live for that long.

        From the first call of this or of `spawn` on, time passes in no other way. Raises ValueError for negative
        times, and TypeError if `processes` is no `ProcessTable` and no `JoinedProcesses`.
        """
        self.advance_ns(to_ns(seconds))

    def advance_ns(self, time: int) -> None:
        """As `advance`, with a time in ns."""
        self._simulation().advance(time)

    def paths_of(self, pid: int) -> tuple[str, ...]:
        """The path of a task's cgroup in each hierarchy, as the path methods take it."""
        if not isinstance(self.root, TopDirectory):
            return (self.hierarchies[0].cgroup_of(pid).path,)
        tops = [(name, one.hierarchy) for name, one in self.root.content.items() if isinstance(one, Cgroup)]
        return tuple(f"/{name}{hierarchy.cgroup_of(pid).path}" for name, hierarchy in tops)

    def killed(self, cgroup: str = "/", since: int = 0) -> int:
        """How many simulated processes were killed in a cgroup and below it, after the first `since` of `kills`.

        On v1 the path begins with a hierarchy.
        """
        return 0 if self.world is None else self.world.killed(cgroup, since)

    @property
    def now(self) -> int:
        """The time, in ns of the clock."""
        return self.clock()

    @property
    def kills(self) -> Sequence[Kill]:
        """The simulated processes that were killed so far, in order."""
        return () if self.world is None else tuple(self.world.kills)

    def next_event(self) -> int | None:
        """ns of virtual time until something happens to simulated processes by itself; None if there are none.

        It is ten seconds at most: then ask again.
        """
        return None if self.world is None else self.world.next_event()

    def simulated_task(self, pid: int, *, booted: int = 0, uid: int = 0) -> SimulatedTask | None:
        """A live simulated process as /proc shows it; None if there is none.

        `booted` is when the machine started, in ns of the clock. `uid` is the process's for the reader.
        """
        process = None if self.world is None else self.world.find(pid)
        used = None if process is None else self._table().cpu(pid)
        if process is None or used is None:
            return None
        workload = process.workload
        return SimulatedTask(
            pid,
            workload.name or "simulated",
            "T" if self._table().waits(pid) else "R" if process.cpus else "S",
            uid,
            process.threads,
            workload.nice,
            process.oom_score_adj,
            max(0, process.started - booted),
            used.own,
            self._table().memory(pid).use,
            self.machine.memory + self.machine.swap,
        )

    def set_oom_score_adj(self, pid: int, text: str, *, capable: bool) -> None:
        """Do what a write to /proc/PID/oom_score_adj does to a simulated process (oom_score_adj_write, __set_oom_adj).

        `capable` says whether the writer has CAP_SYS_RESOURCE. Raises EINVAL, ERANGE, ESRCH, and EACCES for less than
        somebody with that capability has set, in this order.
        """
        adj = parse_oom_score_adj(text)
        process = None if self.world is None else self.world.find(pid)
        if process is None:
            raise refuse(ESRCH)
        if adj < process.least_oom_score_adj and not capable:
            raise refuse(EACCES)
        process.oom_score_adj = adj
        if capable:
            process.least_oom_score_adj = adj

    @property
    def lives(self) -> bool:
        """True once time passes in `advance` alone."""
        return self.world is not None

    def workloads(self) -> list[Workload]:
        """What live processes live through, oldest first."""
        return [] if self.world is None else self.world.workloads()

    def processes_of(self, workload: Workload) -> list[int]:
        """The live processes of a workload."""
        return [] if self.world is None else self.world.processes_of(workload)

    def end(self, workload: Workload) -> None:
        """Let the processes of a workload exit now, and start none of them again."""
        if self.world is not None:
            self.world.end(workload)

    def _simulation(self) -> World:
        if self.world is None:
            from .simulation.world import World  # takes a while to load

            self.world = World(self, self._table(), self.clock, self._seed)
        return self.world

    def _table(self) -> ProcessTable:
        if isinstance(self.processes, JoinedProcesses):
            self.processes.begin()
            return self.processes.simulated
        if not isinstance(self.processes, ProcessTable):
            raise TypeError("simulated processes are for a Kernel with its own table of processes")
        return self.processes

    def look(self) -> None:
        """Count what real processes have used by now. `Processes.wake` says when to call this."""
        self.membership.look()
