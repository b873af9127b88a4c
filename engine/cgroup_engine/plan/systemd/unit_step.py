"""One call to systemd as a step of a plan."""

from __future__ import annotations

from dataclasses import replace

from cgroup_engine.model.value import value
from cgroup_engine.plan.step import Step
from cgroup_engine.plan.systemd.properties import Property, resource_properties, shown_properties
from cgroup_engine.tree.layout import Layout


@value(frozen=True, slots=True)
class UnitStep(Step):
    """One call to systemd; ``path`` is the unit's name and ``text`` the limits among its properties.

    ``files`` are the writes that systemd does for the call; they are read back. ``hierarchies``: where a stop removes
    the directory.
    """

    properties: tuple[Property, ...] = ()
    files: tuple[Step, ...] = ()
    hierarchies: tuple[str, ...] = ()


def with_file(call: UnitStep, file: Step, instead: Step, systemd: int, layout: Layout) -> UnitStep:
    """A call with another value for one of its files; ``systemd`` is the version."""
    other = dict(resource_properties({instead.file: instead.text}, systemd, layout.version) or ())
    properties = tuple((name, other.get(name, value)) for name, value in call.properties)
    files = tuple(instead if each == file else each for each in call.files)
    text, why = shown_properties(properties), "; ".join(dict.fromkeys(each.why for each in files))
    return replace(call, properties=properties, files=files, text=text, why=why)
