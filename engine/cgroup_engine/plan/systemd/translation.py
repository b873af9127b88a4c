"""Turns a plan's steps into calls to systemd; the others stay directories and writes.

* Directories and values of a missing slice -> ``start`` (StartTransientUnit).
* Values of an active slice or scope -> ``set`` (SetUnitProperties, until the next boot).
* Removing a slice -> ``stop`` (StopUnit). systemd removes a scope itself, with its last process.
* Writes to cgroup.subtree_control are dropped for controllers that systemd knows: it enables them itself.

systemd says which unit has a cgroup; the directory's name does not. ``x-pod1.slice`` in ``kubepods.slice`` is not the
unit of that name, whose cgroup would be ``x.slice/x-pod1.slice``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from cgroup_engine.errors import UnsafeNameError
from cgroup_engine.model.names import expand_slice
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.steps import settings_of
from cgroup_engine.plan.systemd.properties import (
    NO_PROPERTY,
    V1_HIERARCHIES,
    Property,
    known_controllers,
    resource_properties,
    shown_properties,
    slice_properties,
)
from cgroup_engine.plan.systemd.unit import ActiveUnits, Unit
from cgroup_engine.plan.systemd.unit_step import UnitStep
from cgroup_engine.plan.write import Pass
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import Knob


def over_dbus(plan: Plan, wanted: Sequence[WantedCgroup], found: FoundTree, systemd: ActiveUnits) -> Plan:
    """A plan from ``make_plan`` with systemd's part as calls. Changes nothing.

    :raises SystemdError: systemd does not answer.
    """
    translation = Translation(found, systemd)
    steps: list[Step] = []
    made = {
        path: list(group)
        for path, group in groupby((step for step in plan.steps if step.during == "make"), lambda step: step.cgroup)
    }
    levels = {cgroup.path: cgroup.level for cgroup in wanted}

    def others(*passes: Pass) -> Iterator[Step]:
        for path, group in groupby((step for step in plan.steps if step.during in passes), lambda step: step.cgroup):
            own = list(group)
            if own[0].action == "rmdir":
                yield from translation.removed(path, own)
            elif levels.get(path) != "container" or translation.unit_of(path) is not None:
                yield from translation.changed(path, own)

    steps += others("remove", "lower")
    steps += translation.files_only(made.pop("", []))
    for cgroup in wanted:
        steps += translation.made(cgroup, made.pop(cgroup.path, []))
    steps += others("settle")
    # systemd writes memory.oom.group with every change of a scope; OOMPolicy can only be given at its start
    steps.sort(key=lambda step: step.file == "memory.oom.group")
    return Plan(plan.layout, tuple(steps), (*plan.kept, *translation.kept), tuple(translation.waiting))


def down_over_dbus(plan: Plan, found: FoundTree, systemd: ActiveUnits) -> Plan:
    """A plan from ``down_plan`` with systemd's part as calls. Changes nothing.

    :raises SystemdError: systemd does not answer.
    """
    translation = Translation(found, systemd)
    steps: list[Step] = []
    for path, group in groupby(plan.steps, lambda step: step.cgroup):
        own = list(group)
        steps += translation.removed(path, own) if own[0].action == "rmdir" else translation.changed(path, own)
    return Plan(plan.layout, tuple(steps), (*plan.kept, *translation.kept))


class Translation:
    """Translates the steps of one cgroup after the other; ``kept`` and ``waiting`` are for the plan.

    Its methods raise SystemdError if systemd does not answer.
    """

    def __init__(self, found: FoundTree, systemd: ActiveUnits) -> None:
        self.found = found
        self.layout = found.layout
        self.systemd = systemd
        self.kept: list[str] = []
        self.waiting: list[str] = []
        self._units: dict[str, Unit | None] = {}
        self._staying: set[str] = set()
        self._shown: dict[tuple[str, str], dict[str, str]] = {}  # (cgroup, knob) -> its files, as planned so far

    def unit_of(self, path: str) -> Unit | None:
        """The active unit of a cgroup."""
        if path not in self._units:
            name = path.rpartition("/")[2]
            unit = self.systemd.unit(name) if name.endswith((".slice", ".scope")) else None
            self._units[path] = unit if unit is not None and unit.cgroup == path else None
        return self._units[path]

    def made(self, cgroup: WantedCgroup, own: list[Step]) -> Iterable[Step]:
        if cgroup.level == "system":
            return own  # plain directories with either driver
        if self.unit_of(cgroup.path) is not None:
            steps = self.changed(cgroup.path, own)
            return self._of_scope(own, steps) if cgroup.level == "container" else steps
        if cgroup.level == "container":
            self.waiting.append(f"{cgroup.owner}: {cgroup.path.rpartition('/')[2]} is made by the runtime")
            return []
        if cgroup.level == "reserved" or not is_slice(cgroup.path):
            return own
        return self._started(cgroup, own)

    @staticmethod
    def _of_scope(own: list[Step], steps: Iterable[Step]) -> Iterator[Step]:
        """Drops the writes in hierarchies where the runtime made no cgroup: no process of the scope is there."""
        missing = {step.path for step in own if step.action == "mkdir"}
        for step in steps:
            if isinstance(step, UnitStep) or step.path.rpartition("/")[0] not in missing:
                yield step

    def _started(self, cgroup: WantedCgroup, own: list[Step]) -> Iterator[Step]:
        """Starts a slice with every value that is given; systemd sets its other files to the kernel's defaults."""
        name = cgroup.path.rpartition("/")[2]
        why = next((step.why for step in own if step.action == "mkdir"), "has no unit yet")
        properties = slice_properties(name, cgroup.parent.rpartition("/")[2] or "-.slice", self.layout)
        files: list[Step] = []
        for knob, setting in settings_of(cgroup, self.layout):
            if not knob.given(cgroup.limits):
                continue
            texts = dict(zip(knob.files, setting, strict=True))
            found = resource_properties(texts, self.systemd.version, self.layout.version)
            if found is not None:
                properties += found
                files += self._writes(cgroup, knob, texts)
        covered = {file.path for file in files if file.file != NO_PROPERTY}
        files = [file for file in files if file.path in covered]
        text = shown_properties(properties)
        yield UnitStep(
            "start", name, cgroup.path, why, cgroup.owner, text, properties=tuple(properties), files=tuple(files)
        )
        yield from self.files_only(step for step in own if step.path not in covered)

    def _writes(self, cgroup: WantedCgroup, knob: Knob, texts: Mapping[str, str]) -> Iterator[Step]:
        why = cgroup.why(knob.field)
        for file, text in texts.items():
            path = self.layout.file(knob.controller, cgroup.path, file)
            yield Step("write", path, cgroup.path, why, cgroup.owner, text, "", knob)

    def changed(self, path: str, own: list[Step]) -> Iterable[Step]:
        """The writes of a cgroup; those with a property of its unit become one call."""
        unit = self.unit_of(path)
        if unit is None:
            return self.files_only(own)
        properties: list[Property] = []
        files: list[Step] = []
        there = self.found.get(path)
        for knob in dict.fromkeys(step.knob for step in own if step.knob is not None):
            writes = {step.file: step for step in own if step.knob == knob}
            before = (there.setting(knob) if there is not None else None) or knob.default
            shown = self._shown.setdefault((path, knob.field), dict(zip(knob.files, before, strict=True)))
            shown |= {file: step.text for file, step in writes.items()}
            texts = dict(shown)
            found = resource_properties(texts, self.systemd.version, self.layout.version)
            if found is not None:
                properties += found
                files += writes.values()
        by_unit = {file.knob for file in files if file.knob is not None and NO_PROPERTY not in file.knob.files}
        files = [file for file in files if file.file != NO_PROPERTY]
        rest = list(self.files_only(step for step in own if step.knob not in by_unit))
        if not files:
            return rest
        why = "; ".join(dict.fromkeys(step.why for step in files))
        text, first = shown_properties(properties), files[0]
        before_texts = " ".join(dict.fromkeys(f"{step.file}={step.before}" for step in files))
        call = UnitStep(
            "set", unit.name, path, why, first.owner, text, before_texts, None, first.during,
            properties=tuple(properties), files=tuple(files),
        )  # fmt: skip
        return [*rest, call]  # memory and swap together go up before memory alone

    def removed(self, path: str, own: list[Step]) -> Iterable[Step]:
        unit = self.unit_of(path)
        if any(staying.startswith(path + "/") for staying in self._staying):
            self._staying.add(path)
            return []
        if unit is None:
            return own
        if not unit.transient:
            self._staying.add(path)
            self.kept.append(f"/{path}: {unit.name} was not made by this engine, so it stays")
            return []
        hierarchies = tuple(
            hierarchy
            for hierarchy in self.layout.hierarchies
            if self.layout.version == 2 or hierarchy in V1_HIERARCHIES
        )
        ours = {self.layout.directory(hierarchy, path) for hierarchy in hierarchies}
        stop = UnitStep("stop", unit.name, path, own[0].why, own[0].owner, during="remove", hierarchies=hierarchies)
        return [*(step for step in own if step.path not in ours), stop]

    def files_only(self, own: Iterable[Step]) -> Iterator[Step]:
        """The steps that systemd does not do: directories of other hierarchies, controllers that it does not know."""
        for step in own:
            if step.action == "mkdir":
                hierarchy = step.path.removesuffix(step.cgroup).rstrip("/")
                if is_slice(step.cgroup) and self.layout.version == 1 and hierarchy not in V1_HIERARCHIES:
                    yield step
            elif step.file == "cgroup.subtree_control":
                known = known_controllers(self.systemd.version)
                words = [word for word in step.text.split() if word[1:] not in known]
                if words and step.cgroup not in self._staying:
                    yield replace(step, text=" ".join(words))
            else:
                yield step


def is_slice(path: str) -> bool:
    """Is this the path that systemd gives to a slice of this name?"""
    try:
        return "/".join(expand_slice(path.rpartition("/")[2])) == path
    except UnsafeNameError:
        return False
