"""Makes, sets and removes one cgroup at a time, in every hierarchy: directly, or over D-Bus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from errno import EBUSY, EEXIST, ENODEV, ENOENT

from cgroup_engine.change.apply import execute
from cgroup_engine.change.systemd.bus import Systemd
from cgroup_engine.errors import RootError, StepFailedError, errno_name
from cgroup_engine.kubelet.cpu_weight import with_weight
from cgroup_engine.model.hugepages import page_size_of_file
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import written
from cgroup_engine.plan.removal import remove_steps, who_lives
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.systemd.properties import slice_properties
from cgroup_engine.plan.systemd.translation import Translation
from cgroup_engine.plan.systemd.unit_step import UnitStep
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.tree.knobs import CPUS, MEMS, knobs_of
from cgroup_engine.tree.layout import Layout

_TRIES = 10  # of rmdir while an ending process keeps a cgroup busy; 1 s in sum, as libcontainer's rmdir
_FIRST_DELAY_S = 0.001


class CgroupWriter:
    """Changes single cgroups below a root. ``path``: of a cgroup below the root. ``parts``: its directories.

    Methods raise StepFailedError if the kernel or systemd refuses a step, RootError if a file cannot be read, and
    SystemdError if systemd does not answer.
    """

    def __init__(self, fs: CgroupFs, layout: Layout, kubelet: KubeletVersion, systemd: Systemd | None) -> None:
        self._fs, self._layout, self._kubelet, self._systemd = fs, layout, kubelet, systemd

    def make(self, parts: Sequence[str]) -> None:
        """Makes a cgroup and its missing ancestors, with all controllers (v2), or with CPUs and memory nodes (v1)."""
        if self._systemd is not None:
            self._start(parts, self._systemd)
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if self._layout.version == 2:
                self._enable("/".join(parts[: depth - 1]))
            for hierarchy in self._layout.hierarchies:
                self._take(Step("mkdir", self._layout.directory(hierarchy, path), path, "", ""))
            if self._layout.version == 1 and "cpuset" in self._layout.hierarchy_of:
                self._fill_cpuset(path)

    def set(self, path: str, limits: CgroupLimits) -> None:
        """Sets the values that ``limits`` names."""
        limits = with_weight(written(limits, self._kubelet))
        found = FoundTree(self._fs, self._layout, sparse=True)
        there = found.get(path)
        steps: list[Step] = []
        for knob in knobs_of(self._layout, limits):
            new = knob.setting(limits) if knob.given(limits) else None
            if new is None:
                continue
            old = (there.setting(knob) if there is not None else None) or knob.default
            for file, text in knob.writes(old, new):
                steps.append(
                    Step("write", self._layout.file(knob.controller, path, file), path, "", "", text, knob=knob)
                )
        for step in steps if self._systemd is None else Translation(found, self._systemd).changed(path, steps):
            self._take(step)

    def remove(self, path: str, pids: Callable[[], Sequence[int]]) -> None:
        """Removes a cgroup and all below it; ``pids``: the processes there now."""
        if self._systemd is not None:
            self._stop(path, pids, self._systemd)
        for top in self._tops(path):
            for directory in reversed(list(self._below(top))):
                self._rmdir(directory)

    def directories(self, path: str) -> Iterator[str]:
        """The directories of a cgroup and of all below it, in every hierarchy, parents before children."""
        for top in self._tops(path):
            yield from self._below(top)

    def page_sizes(self, path: str) -> list[int]:
        """Bytes of each size of huge pages that a cgroup has files for."""
        hierarchy = self._layout.hierarchy_of.get("hugetlb")
        names = self._names(self._layout.directory(hierarchy, path)) if hierarchy is not None else []
        return [size for name in names if (size := page_size_of_file(name)) is not None]

    def _enable(self, path: str) -> None:
        file = f"{path}/cgroup.subtree_control".lstrip("/")
        enabled = text_of(self._fs, file).split()
        missing = [name for name in self._layout.available if name not in enabled]
        if missing:
            self._take(Step("write", file, path, "", "", " ".join(f"+{name}" for name in missing)))

    def _fill_cpuset(self, path: str) -> None:
        """Copies empty lists from the parent (cpusetCopyIfNeeded): no process enters a cgroup without CPUs or nodes."""
        for knob in (CPUS, MEMS):
            file = self._layout.file("cpuset", path, knob.files[0])
            if text_of(self._fs, file).strip() == "":
                text = text_of(self._fs, self._layout.file("cpuset", path.rpartition("/")[0], knob.files[0])).strip()
                self._take(Step("write", file, path, "", "", text, knob=knob))

    def _start(self, parts: Sequence[str], systemd: Systemd) -> None:
        """Starts the missing units down to a slice (startUnit)."""
        translation = Translation(FoundTree(self._fs, self._layout, sparse=True), systemd)
        for depth, unit in enumerate(parts):
            path = "/".join(parts[: depth + 1])
            if translation.unit_of(path) is None:
                properties = slice_properties(unit, parts[depth - 1] if depth else "-.slice", self._layout)
                self._take(UnitStep("start", unit, path, "", "", properties=tuple(properties)))

    def _stop(self, path: str, pids: Callable[[], Sequence[int]], systemd: Systemd) -> None:
        delay = _FIRST_DELAY_S
        for _ in range(_TRIES):
            if not pids():
                break
            time.sleep(delay)
            delay *= 2
        if living := pids():
            raise StepFailedError(
                f"{path}: {who_lives(living)} there", path=path, errno=EBUSY, todo="end them first, as systemd would"
            )
        found = FoundTree(self._fs, self._layout, sparse=True)
        translation = Translation(found, systemd)
        for cgroup in reversed(list(found.below(path))):
            steps = list(remove_steps([cgroup], self._layout, ""))
            for step in translation.removed(cgroup.path, steps):
                self._take(step)
        if translation.kept:
            raise StepFailedError(translation.kept[0].lstrip("/"), path=path)

    def _take(self, step: Step) -> None:
        if step.action == "mkdir" and self._fs.is_dir(step.path):
            return
        for failure in execute(Plan(self._layout, (step,)), self._fs, systemd=self._systemd).failed:
            if step.action != "mkdir" or failure.errno != EEXIST or not self._fs.is_dir(step.path):
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
        if path and not self._fs.is_dir(path):
            return
        yield path
        for name in self._names(path):
            child = f"{path}/{name}" if path else name
            if self._fs.is_dir(child):
                yield from self._below(child)

    def _tops(self, path: str) -> list[str]:
        """A cgroup's directory in each hierarchy, also in those where only runtimes make cgroups."""
        hierarchies = {""} if self._layout.version == 2 else {*self._layout.hierarchies, *self._fs.subdirectories("")}
        return [self._layout.directory(hierarchy, path) for hierarchy in sorted(hierarchies)]

    def _names(self, path: str) -> list[str]:
        try:
            return self._fs.listdir(path)
        except OSError as failed:
            if failed.errno in (ENOENT, ENODEV):
                return []
            raise unreadable(path, failed) from None


def text_of(fs: CgroupFs, file: str) -> str:
    """The text of a file, "" if there is none.

    :raises RootError: it cannot be read.
    """
    try:
        return fs.read(file)
    except OSError as failed:
        if failed.errno in (ENOENT, ENODEV):
            return ""
        raise unreadable(file, failed) from None


def unreadable(path: str, failed: OSError) -> RootError:
    """The error for a file that cannot be read."""
    number = failed.errno or 0
    return RootError(f"{path}: cannot be read: {errno_name(number)}", path=path, errno=number)
