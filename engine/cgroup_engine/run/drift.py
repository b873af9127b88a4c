"""Drift: changes by somebody else, found by comparing the tree with its state after the last reconcile."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cgroup_engine.change.apply import Outcome
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.steps import settings_of
from cgroup_engine.plan.systemd.unit_step import UnitStep
from cgroup_engine.run.events import Drift
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.tree.knobs import Knob, Setting
from cgroup_engine.tree.layout import Layout

A_CGROUP = "a cgroup"
_MAKES = ("mkdir", "start")


@dataclass(frozen=True)
class Baseline:
    """The tree as a reconcile left it. ``cgroups``: the wanted ones by path. ``unsettled``: paths not as wanted."""

    layout: Layout
    cgroups: Mapping[str, WantedCgroup]
    unsettled: frozenset[str] = frozenset()

    def cgroup_of(self, directory: str) -> WantedCgroup | None:
        """The cgroup of a directory, which is relative to the root."""
        for hierarchy in self.layout.hierarchies:
            prefix = f"{hierarchy}/" if hierarchy else ""
            if directory.startswith(prefix) and (cgroup := self.cgroups.get(directory[len(prefix) :])) is not None:
                return cgroup
        return None

    def settled(self, cgroup: WantedCgroup) -> Iterator[tuple[Knob, Setting]]:
        """The settings of a cgroup, without a limit that may follow the memory in use (retrySetMemoryReserve)."""
        for knob, setting in settings_of(cgroup, self.layout):
            if cgroup.level != "qos" or knob.field != "memory":
                yield knob, setting


def baseline_after(plan: Plan, outcome: Outcome, wanted: Sequence[WantedCgroup], contested: Container[str]) -> Baseline:
    """The tree after a plan was executed. ``contested``: paths that were as wanted until somebody else changed them."""
    done = {step.path for step in outcome.done}
    steps = [step for step in plan.steps if step.path not in done]
    paths = {path for step in (*steps, *outcome.skipped) for path in paths_of(step) if path not in contested}
    return Baseline(plan.layout, {cgroup.path: cgroup for cgroup in wanted}, frozenset(paths))


def paths_of(step: Step) -> Iterable[str]:
    """The files or the directory that a step changes; of a call to systemd the unit's name too."""
    return (step.path, *(file.path for file in step.files)) if isinstance(step, UnitStep) else (step.path,)


def drift_since(before: Baseline, plan: Plan, found: FoundTree, by: Mapping[str, str]) -> list[Drift]:
    """The drift that a plan would undo. ``by``: path -> who wrote there."""
    if (found.layout.version, found.layout.hierarchies) != (before.layout.version, before.layout.hierarchies):
        return []
    drift: list[Drift] = []
    gone: list[str] = []
    missing = {step.path if step.action == "mkdir" else step.cgroup for step in plan.steps if step.action in _MAKES}
    written = {path for step in plan.steps for path in paths_of(step)}
    for path in dict.fromkeys(step.cgroup for step in plan.steps):
        cgroup = before.cgroups.get(path)
        if cgroup is not None and not _below(path, gone):
            lacks = list(_directories_gone(before, cgroup, missing))
            gone += [path] if lacks else []
            drift += lacks or [one for one in _files_changed(before, cgroup, found) if one.path in written]
    parents = {cgroup.parent for cgroup in before.cgroups.values()}
    for step in plan.steps:
        if step.file != "cgroup.subtree_control" or step.cgroup not in parents or step.path in before.unsettled:
            continue
        if step.cgroup not in gone and not _below(step.cgroup, gone):
            on = {*step.before.split(), *(word[1:] for word in step.text.split())}
            drift.append(Drift(step.path, step.owner, " ".join(sorted(on)), step.before, cgroup=step.cgroup))
    return [replace(one, by=by.get(one.path, "")) for one in drift]


def _below(path: str, others: Iterable[str]) -> bool:
    return any(path.startswith(f"{other}/") for other in others)


def _directories_gone(before: Baseline, cgroup: WantedCgroup, missing: Container[str]) -> Iterator[Drift]:
    directories = [before.layout.directory(hierarchy, cgroup.path) for hierarchy in before.layout.hierarchies]
    for directory in directories[:1] if cgroup.path in missing else [one for one in directories if one in missing]:
        if directory not in before.unsettled:
            yield Drift(directory, cgroup.owner, A_CGROUP, "", cgroup=cgroup.path)


def _files_changed(before: Baseline, cgroup: WantedCgroup, found: FoundTree) -> Iterator[Drift]:
    there = found.get(cgroup.path)
    for knob, setting in before.settled(cgroup):
        have = there.setting(knob) if there is not None else None
        for file, want, now in zip(knob.files, setting, have or (), strict=have is not None):
            path = before.layout.file(knob.controller, cgroup.path, file)
            if path not in before.unsettled and not knob.same(want, now, file):
                yield Drift(path, cgroup.owner, want, now, cgroup=cgroup.path)


def differs(baseline: Baseline, path: str, fs: CgroupFs) -> bool:
    """Does a file or directory differ from the baseline? True if that is unknown, and for the path "" (any)."""
    if path in baseline.unsettled or path == "":
        return path == ""
    if baseline.cgroup_of(path) is not None:
        return not fs.is_dir(path)
    directory, _, name = path.rpartition("/")
    cgroup = baseline.cgroup_of(directory)
    try:
        if name == "cgroup.subtree_control":
            parents = {cgroup.parent for cgroup in baseline.cgroups.values()}
            return directory in parents and not set(baseline.layout.available) <= set(fs.read(path).split())
        for knob, setting in baseline.settled(cgroup) if cgroup is not None else ():
            if name in knob.files:
                return not knob.same(setting[knob.files.index(name)], fs.read(path).strip(), name)
    except (OSError, ValueError):
        return True
    return False
