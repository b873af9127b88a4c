"""A knob: one limit of a cgroup with its interface files, such as cpu.cfs_quota_us with cpu.cfs_period_us.

Its *setting* is a tuple with the text of each file, in the form in which the kernel shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.layout import Controller

Setting = tuple[str, ...]


class Knob(Protocol):
    """One limit of a cgroup; ``files`` are its interface files, in the order of a setting."""

    @property
    def field(self) -> Field: ...

    @property
    def controller(self) -> Controller: ...

    @property
    def files(self) -> tuple[str, ...]: ...

    @property
    def default(self) -> Setting:
        """The setting of a new cgroup."""

    def given(self, limits: CgroupLimits) -> bool:
        """Do the limits set this knob?"""

    def setting(self, limits: CgroupLimits) -> Setting | None:
        """The setting of a cgroup with these limits; None if the limits do not decide it."""

    def same(self, wanted: str, found: str, file: str) -> bool:
        """Does a file show the wanted text, allowing for the kernel's rounding?"""

    def size(self, setting: Setting) -> float:
        """How much a setting allows, for comparing two; the same number for all if settings have no order."""

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        """The (file, text) writes from one setting to the other; each state between is legal beside its relatives."""

    def unit(self) -> str:
        """The unit of the number, for people."""


def changed_files(files: Sequence[str], old: Setting, new: Setting) -> list[tuple[str, str]]:
    return [(file, text) for file, before, text in zip(files, old, new, strict=True) if before != text]


class PlainKnob:
    """Most knobs: files show the text that was written, settings have no order, and each file is written alone.

    There is one object of each knob, so the classes are plain: a dataclass would take a millisecond of each start.
    """

    field: Field
    controller: Controller
    files: tuple[str, ...]
    default: Setting

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted == found

    def size(self, setting: Setting) -> float:
        return 0

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        return changed_files(self.files, old, new)
