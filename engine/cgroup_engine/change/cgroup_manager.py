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

import time
from collections.abc import Iterator
from dataclasses import replace
from errno import EBUSY, EEXIST, ENODEV, ENOENT
from typing import Literal

from cgroup_engine.change.apply import execute
from cgroup_engine.change.systemd.bus import Systemd, is_booted
from cgroup_engine.errors import CgroupMissingError, RootError, StepFailedError, UnsafeNameError, errno_name, quoted
from cgroup_engine.kubelet.cpu_weight import with_weight
from cgroup_engine.kubelet.shares import weight_to_shares
from cgroup_engine.model.hugepages import page_size_of_file
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import CgroupName, Driver, components, directory, parse_cgroupfs, parse_reserved
from cgroup_engine.model.wanted_cgroup import written
from cgroup_engine.plan.removal import remove_steps, who_lives
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.systemd.properties import slice_properties
from cgroup_engine.plan.systemd.translation import Translation
from cgroup_engine.plan.systemd.unit_step import UnitStep
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import MACHINE_ROOT, CgroupFs, OsFs
from cgroup_engine.tree.knobs import CPUS, MEMS, knobs_of
from cgroup_engine.tree.layout import Controller, detect

Resource = Literal["cpu", "memory"]
V2_CONTROLLERS = ("cpu", "cpuset", "memory", "hugetlb", "pids")  # getSupportedUnifiedControllers
_TRIES = 10  # of rmdir while an ending process keeps a cgroup busy; 1 s in sum, as libcontainer's rmdir
_FIRST_DELAY_S = 0.001


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
        self.systemd = systemd if driver == "systemd" else None
        self.fs = fs
        self.driver = driver
        self.kubelet = kubelet or KubeletVersion()
        self.layout = detect(fs, shown_root)

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

        v1: in every hierarchy that ``validate`` checks; an empty cpuset.cpus or cpuset.mems is copied from the parent.
        v2: all controllers of the root are enabled from the root down. Sizes of huge pages that ``limits``
        does not name are set to 0.

        :raises StepFailedError: the kernel refused a step or kept another value; earlier steps stay done.
        :raises UnsafeNameError: the name cannot become a directory.
        """
        parts = self._parts(name)
        if self.systemd is not None:
            self._start(parts, self.systemd)
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if self.version == 2:
                self._enable("/".join(parts[: depth - 1]))
            for hierarchy in self.layout.hierarchies:
                self._take(Step("mkdir", self.layout.directory(hierarchy, path), path, "", ""))
            if self.version == 1 and "cpuset" in self.layout.hierarchy_of:
                self._fill_cpuset(path)
        path = "/".join(parts)
        limits = limits or CgroupLimits()
        self._set(path, replace(limits, hugepages={**dict.fromkeys(self._page_sizes(path), 0), **limits.hugepages}))

    def update(self, name: CgroupName, limits: CgroupLimits) -> None:
        """Sets the values that ``limits`` names and leaves all others (Update). A quota or memory of 0 is "not set".

        :raises CgroupMissingError: there is no such cgroup.
        :raises StepFailedError: the kernel refused a value or kept another one; earlier values are set.
        """
        path = "/".join(self._parts(name))
        if FoundTree(self.fs, self.layout, sparse=True).get(path) is None:
            raise CgroupMissingError(f"/{path}: does not exist", path=path, todo="create it")
        self._set(path, limits)

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
        path = self._directory(name)
        found: set[int] = set()
        for hierarchy in self._all_hierarchies():
            for child in self._below(self.layout.directory(hierarchy, path)):
                found.update(int(line) for line in self._text(f"{child}/cgroup.procs".lstrip("/")).split())
        return sorted(found)

    def destroy(self, name: CgroupName) -> None:
        """Removes a cgroup and all below it, from every hierarchy (Destroy). It may be gone already.

        It kills no process. If a process is about to end, rmdir is tried again for a second. systemd would kill the
        processes of its units, so it is called only when there are none.

        :raises StepFailedError: EBUSY: processes live there; empty cgroups below are gone then. Or a unit there is not
            transient, so it is not this engine's to stop.
        :raises UnsafeNameError: the name is the root.
        """
        path = "/".join(self._parts(name))
        if self.systemd is not None:
            self._stop(name, path, self.systemd)
        for hierarchy in self._all_hierarchies():
            for child in reversed(list(self._below(self.layout.directory(hierarchy, path)))):
                self._rmdir(child)

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
                for hierarchy in self.layout.hierarchies
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
        lacking = [controller for controller in self._v2_controllers() if controller not in enabled]
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

    def _v2_controllers(self) -> list[str]:
        return [name for name in V2_CONTROLLERS if name in self.layout.available]

    def _all_hierarchies(self) -> list[str]:
        """Every hierarchy of the root, also those in which only runtimes make cgroups."""
        if self.version == 2:
            return [""]
        return sorted({*self.layout.hierarchies, *self.fs.subdirectories("")})

    def _enable(self, path: str) -> None:
        file = f"{path}/cgroup.subtree_control".lstrip("/")
        enabled = self._text(file).split()
        missing = [name for name in self.layout.available if name not in enabled]
        if missing:
            self._take(Step("write", file, path, "", "", " ".join(f"+{name}" for name in missing)))

    def _fill_cpuset(self, path: str) -> None:
        """Copies empty lists from the parent (cpusetCopyIfNeeded): no process enters a cgroup without CPUs or nodes."""
        for knob in (CPUS, MEMS):
            file = self.layout.file("cpuset", path, knob.files[0])
            if self._text(file).strip() == "":
                text = self._text(self.layout.file("cpuset", path.rpartition("/")[0], knob.files[0])).strip()
                self._take(Step("write", file, path, "", "", text, knob=knob))

    def _set(self, path: str, limits: CgroupLimits) -> None:
        limits = with_weight(written(limits, self.kubelet))
        found = FoundTree(self.fs, self.layout, sparse=True)
        there = found.get(path)
        steps: list[Step] = []
        for knob in knobs_of(self.layout, limits):
            new = knob.setting(limits) if knob.given(limits) else None
            if new is None:
                continue
            old = (there.setting(knob) if there is not None else None) or knob.default
            for file, text in knob.writes(old, new):
                steps.append(
                    Step("write", self.layout.file(knob.controller, path, file), path, "", "", text, knob=knob)
                )
        for step in steps if self.systemd is None else Translation(found, self.systemd).changed(path, steps):
            self._take(step)

    def _start(self, parts: tuple[str, ...], systemd: Systemd) -> None:
        """Starts the missing units down to a slice (startUnit)."""
        translation = Translation(FoundTree(self.fs, self.layout, sparse=True), systemd)
        for depth, unit in enumerate(parts):
            path = "/".join(parts[: depth + 1])
            if translation.unit_of(path) is None:
                properties = slice_properties(unit, parts[depth - 1] if depth else "-.slice", self.layout)
                self._take(UnitStep("start", unit, path, "", "", properties=tuple(properties)))

    def _stop(self, name: CgroupName, path: str, systemd: Systemd) -> None:
        delay = _FIRST_DELAY_S
        for _ in range(_TRIES):
            if not self.pids(name):
                break
            time.sleep(delay)
            delay *= 2
        pids = self.pids(name)
        if pids:
            raise StepFailedError(
                f"{path}: {who_lives(pids)} there", path=path, errno=EBUSY, todo="end them first, as systemd would"
            )
        found = FoundTree(self.fs, self.layout, sparse=True)
        translation = Translation(found, systemd)
        for cgroup in reversed(list(found.below(path))):
            steps = list(remove_steps([cgroup], self.layout, ""))
            for step in translation.removed(cgroup.path, steps):
                self._take(step)
        if translation.kept:
            raise StepFailedError(translation.kept[0].lstrip("/"), path=path)

    def _take(self, step: Step) -> None:
        if step.action == "mkdir" and self.fs.is_dir(step.path):
            return
        for failure in execute(Plan(self.layout, (step,)), self.fs, systemd=self.systemd).failed:
            if step.action != "mkdir" or failure.errno != EEXIST or not self.fs.is_dir(step.path):
                raise failure

    def _rmdir(self, path: str) -> None:
        step, delay = Step("rmdir", path, path, "", "", during="remove"), _FIRST_DELAY_S
        for attempt in range(_TRIES + 1):
            try:
                self._take(step)
                return
            except StepFailedError as refused:
                if refused.errno in (ENOENT, ENODEV):
                    return
                if refused.errno != EBUSY or attempt == _TRIES:
                    raise
            time.sleep(delay)
            delay *= 2

    def _below(self, path: str) -> Iterator[str]:
        """A directory and all below it, parents before children; nothing if it is not there."""
        if path and not self.fs.is_dir(path):
            return
        yield path
        for name in self._names(path):
            child = f"{path}/{name}" if path else name
            if self.fs.is_dir(child):
                yield from self._below(child)

    def _page_sizes(self, path: str) -> list[int]:
        hierarchy = self.layout.hierarchy_of.get("hugetlb")
        names = self._names(self.layout.directory(hierarchy, path)) if hierarchy is not None else []
        return [size for name in names if (size := page_size_of_file(name)) is not None]

    def _names(self, path: str) -> list[str]:
        try:
            return self.fs.listdir(path)
        except OSError as failed:
            if failed.errno in (ENOENT, ENODEV):
                return []
            raise _unreadable(path, failed) from None

    def _read(self, name: CgroupName, controller: Controller, file: str) -> str:
        path = self.layout.file(controller, self._directory(name), file)
        try:
            return self.fs.read(path).strip()
        except OSError as failed:
            raise _unreadable(path, failed) from None

    def _text(self, file: str) -> str:
        """The text of a file, "" if there is none."""
        try:
            return self.fs.read(file)
        except OSError as failed:
            if failed.errno in (ENOENT, ENODEV):
                return ""
            raise _unreadable(file, failed) from None


def _checked(name: CgroupName) -> CgroupName:
    if parse_cgroupfs("/".join(("", *name))) != tuple(name):
        raise UnsafeNameError(f"{quoted('/'.join(name))} is not a cgroup name", todo='give components without "/"')
    return tuple(name)


def _unreadable(path: str, failed: OSError) -> RootError:
    number = failed.errno or 0
    return RootError(f"{path}: cannot be read: {errno_name(number)}", path=path, errno=number)
