"""The kubelet's operations on single cgroups, for programs: make, set, read and remove one by its name.

The interface is that of ``CgroupManager`` in ``pkg/kubelet/cm/types.go``; sources are ``cgroup_manager_linux.go``,
``cgroup_v1_manager_linux.go`` and ``cgroup_v2_manager_linux.go`` beside it (one file before 1.31) and
opencontainers/cgroups, which it calls. Two differences from a kubelet:

* A kubelet's Create logs a value that the kernel refused and returns no error. Here ``create`` raises.
* With each update a kubelet sets every size of huge pages that is not named to 0 (maybeSetHugetlb), even if only CPU
  shares were meant. Here only ``create`` does that.

With the systemd driver and a connection to systemd, slices are transient units and their values are properties, as
in opencontainers/cgroups/systemd. Values without a property, and controllers that systemd would not enable, are written
to the files. Otherwise the directories are made and removed directly; with the systemd driver they have systemd's
names. On the tree that a running systemd manages this is refused: systemd would disable the controllers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from cgroup_engine.change.cgroup_writer import CgroupWriter, text_of, unreadable
from cgroup_engine.change.systemd.bus import Systemd, is_booted
from cgroup_engine.errors import CgroupMissingError, RootError, UnsafeNameError, errno_name, quoted
from cgroup_engine.kubelet.shares import weight_to_shares
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import CgroupName, Driver, components, directory, parse_cgroupfs, parse_reserved
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import MACHINE_ROOT, CgroupFs, OsFs
from cgroup_engine.tree.layout import V2_CONTROLLERS, Controller, detect

Resource = Literal["cpu", "memory"]


class CgroupManager:
    """Operations on the cgroups below one root; a name is a tuple such as ``("kubepods", "burstable", "pod1234")``.

    ``fs``: the root, such as ``OsFs("/sys/fs/cgroup")``. ``driver``: how names become directories. ``kubelet``: its
    release decides where rules differ. ``systemd``: the one that manages the root (``connect`` of
    ``cgroup_engine.change.systemd.bus``), used with the systemd driver only.

    :raises RootError: by the constructor: the root is no cgroup tree, or lacks cpu or memory; or systemd manages it,
        the driver is systemd's, and no connection is given.
    :raises SystemdError: by the methods that make, set or remove: systemd did not answer.
    """

    def __init__(
        self,
        fs: CgroupFs,
        driver: Driver = "cgroupfs",
        kubelet: KubeletVersion | None = None,
        shown_root: str = "root",
        systemd: Systemd | None = None,
    ) -> None:
        own = isinstance(fs, OsFs) and fs.root == MACHINE_ROOT
        if driver == "systemd" and systemd is None and own and is_booted():
            raise RootError(
                f"{shown_root}: is this machine's own tree, where systemd makes the cgroups of the systemd driver",
                path=shown_root,
                todo="give systemd=connect(...) of cgroup_engine.change.systemd.bus, or use the cgroupfs driver",
            )
        self.fs = fs
        self.driver = driver
        self.layout = detect(fs, shown_root)
        by_dbus = systemd if driver == "systemd" else None
        self._writer = CgroupWriter(fs, self.layout, kubelet or KubeletVersion(), by_dbus)

    @property
    def version(self) -> Literal[1, 2]:
        """The cgroup version of the root (Version)."""
        return self.layout.version

    def name(self, name: CgroupName) -> str:
        """The path of a cgroup below the root, or below each hierarchy, with the driver's names; "/" is the root.

        :raises UnsafeNameError: a component must not become a directory, or the systemd driver cannot express it.
        """
        return f"/{self._directory(name)}"

    def cgroup_name(self, path: str) -> CgroupName:
        """The name of a path, the inverse of ``name`` (CgroupName). Of systemd's names only the last part counts.

        :raises UnsafeNameError: an empty or unsafe component.
        """
        return parse_reserved(path, self.driver)

    def create(self, name: CgroupName, limits: CgroupLimits | None = None) -> None:
        """Makes a cgroup with the values of ``limits``, and its missing ancestors (Create). It may exist already.

        v1: in every hierarchy that libcontainer knows; an empty cpuset.cpus or cpuset.mems is copied from the parent.
        v2: all controllers of the root are enabled from the root down. Sizes of huge pages that ``limits`` does not
        name are set to 0.

        :raises StepFailedError: the kernel refused a step or kept another value; earlier steps stay done.
        :raises UnsafeNameError: the name cannot become a directory.
        """
        parts = self._parts(name)
        path = "/".join(parts)
        self._writer.make(parts)
        limits = limits or CgroupLimits()
        unnamed = dict.fromkeys(self._writer.page_sizes(path), 0)
        self._writer.set(path, replace(limits, hugepages={**unnamed, **limits.hugepages}))

    def update(self, name: CgroupName, limits: CgroupLimits) -> None:
        """Sets the values that ``limits`` names and leaves all others (Update). A quota or memory of 0 is "not set".

        :raises CgroupMissingError: there is no such cgroup.
        :raises StepFailedError: the kernel refused a value or kept another one; earlier values are set.
        """
        path = "/".join(self._parts(name))
        if FoundTree(self.fs, self.layout, sparse=True).get(path) is None:
            raise CgroupMissingError(f"/{path}: does not exist", path=path, todo="create it")
        self._writer.set(path, limits)

    def set_config(self, name: CgroupName, limits: CgroupLimits) -> None:
        """The same as ``update`` (SetCgroupConfig); it takes the result of ``get_config``."""
        self.update(name, limits)

    def get_config(self, name: CgroupName, resource: Resource) -> CgroupLimits:
        """The present values of one resource (GetCgroupConfig).

        cpu: ``shares`` (on v2 from cpu.weight, which is coarser: see ``weight_to_shares``), ``quota_us`` (-1 is
        unlimited), ``period_us``. memory: ``memory`` in bytes; without a limit -1 on v2, and on v1 its largest number.

        :raises RootError: a file cannot be read, for example because the cgroup does not exist.
        """
        if resource == "memory":
            text = self._read(name, "memory", "memory.limit_in_bytes" if self.version == 1 else "memory.max")
            return CgroupLimits(memory=-1 if text == "max" else int(text))
        if self.version == 1:
            quota, period = (self._read(name, "cpu", f"cpu.cfs_{file}_us") for file in ("quota", "period"))
            shares = int(self._read(name, "cpu", "cpu.shares"))
        else:
            quota, period = self._read(name, "cpu", "cpu.max").split()
            shares = weight_to_shares(int(self._read(name, "cpu", "cpu.weight")))
        return CgroupLimits(shares=shares, quota_us=-1 if quota == "max" else int(quota), period_us=int(period))

    def memory_usage(self, name: CgroupName) -> int:
        """Bytes of memory in use by a cgroup and all below it, page cache included (MemoryUsage).

        :raises RootError: it cannot be read, for example because the cgroup does not exist.
        """
        return int(self._read(name, "memory", "memory.usage_in_bytes" if self.version == 1 else "memory.current"))

    def reduce_cpu_limits(self, name: CgroupName) -> None:
        """Sets the CPU shares to 2, the minimum, for a pod that is about to end (ReduceCPULimits).

        :raises CgroupMissingError: there is no such cgroup.
        :raises StepFailedError: the kernel refused it.
        """
        self.update(name, CgroupLimits(shares=2))

    def pids(self, name: CgroupName) -> list[int]:
        """The processes of a cgroup and of all below it, in any hierarchy, sorted (Pids); none if there is no cgroup.

        :raises RootError: they cannot be read.
        """
        found: set[int] = set()
        for each in self._writer.directories(self._directory(name)):
            found.update(int(line) for line in text_of(self.fs, f"{each}/cgroup.procs".lstrip("/")).split())
        return sorted(found)

    def destroy(self, name: CgroupName) -> None:
        """Removes a cgroup and all below it, from every hierarchy (Destroy). It may be gone already.

        It kills no process. If a process is about to end, rmdir is tried again for a second. systemd would kill the
        processes of its units, so it is called only when there are none.

        :raises StepFailedError: EBUSY: processes live there; empty cgroups below are gone then. Or a unit there is not
            transient, so it is not this engine's to stop.
        :raises UnsafeNameError: the name is the root.
        """
        self._writer.remove("/".join(self._parts(name)), lambda: self.pids(name))

    def validate(self, name: CgroupName) -> None:
        """Returns if a cgroup exists as a kubelet demands it (Validate).

        v1: in those of the hierarchies cpu, cpuacct, cpuset, memory, pids, systemd and hugetlb that the root has.
        v2: with those of the controllers cpu, cpuset, memory, hugetlb and pids that the root has.

        :raises CgroupMissingError: a hierarchy or a controller is missing; the message names it.
        """
        path = self._directory(name)
        if self.version == 1:
            hierarchies = [
                hierarchy
                for hierarchy in self.layout.demanded
                if not self.fs.is_dir(self.layout.directory(hierarchy, path))
            ]
            if hierarchies:
                raise CgroupMissingError(
                    f"/{path}: does not exist in {', '.join(hierarchies)}", path=path, todo="create it"
                )
            return
        try:
            enabled = self.fs.read(f"{path}/cgroup.controllers".lstrip("/")).split()
        except OSError as failed:
            raise CgroupMissingError(
                f"/{path}: cgroup.controllers cannot be read: {errno_name(failed.errno or 0)}",
                path=path,
                errno=failed.errno,
                todo="create it",
            ) from None
        demanded = [name for name in V2_CONTROLLERS if name in self.layout.available]
        lacking = [controller for controller in demanded if controller not in enabled]
        if lacking:
            raise CgroupMissingError(
                f"/{path}: lacks the controllers {', '.join(sorted(lacking))}",
                path=path,
                todo="enable them in the parents' cgroup.subtree_control",
            )

    def exists(self, name: CgroupName) -> bool:
        """Does ``validate`` succeed (Exists)?"""
        try:
            self.validate(name)
        except CgroupMissingError:
            return False
        return True

    def _directory(self, name: CgroupName) -> str:
        return directory(_checked(name), self.driver)

    def _parts(self, name: CgroupName) -> tuple[str, ...]:
        """The directories from the root to a cgroup; refuses the root itself."""
        if not name:
            raise UnsafeNameError("the root cgroup cannot be changed", todo="name a cgroup below it")
        return components(_checked(name), self.driver)

    def _read(self, name: CgroupName, controller: Controller, file: str) -> str:
        path = self.layout.file(controller, self._directory(name), file)
        try:
            return self.fs.read(path).strip()
        except OSError as failed:
            raise unreadable(path, failed) from None


def _checked(name: CgroupName) -> CgroupName:
    if parse_cgroupfs("/".join(("", *name))) != tuple(name):
        raise UnsafeNameError(f"{quoted('/'.join(name))} is not a cgroup name", todo='give components without "/"')
    return tuple(name)
