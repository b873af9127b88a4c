"""One thing that is set in a cgroup through its interface files.

A knob is the CPU shares, the CPU quota with its period, the memory limit, the pids limit, the limit of one size of huge
pages. Its *setting* is a tuple with the text of each of its files, in the form in which the kernel shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.layout import Controller

Setting = tuple[str, ...]


class Knob(Protocol):
    """One thing that is set in a cgroup; ``files`` are its interface files, in the order of a setting."""

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
        """Do the limits say anything of this?"""

    def setting(self, limits: CgroupLimits) -> Setting | None:
        """What a cgroup with these limits has in the files; None if the limits do not say."""

    def same(self, wanted: str, found: str, file: str) -> bool:
        """Is what a file shows what was wanted, allowing for the kernel's rounding?"""

    def size(self, setting: Setting) -> float:
        """How much a setting allows, for comparing two; equal for all if there is no order between cgroups."""

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        """(file, text) to get from one setting to the other, every state between legal for parent and children."""

    def unit(self) -> str:
        """What the number is, for people."""


def changed_files(files: Sequence[str], old: Setting, new: Setting) -> list[tuple[str, str]]:
    return [(file, text) for file, before, text in zip(files, old, new, strict=True) if before != text]


class PlainKnob:
    """What most knobs are: files show what was written, no setting is above another, each file is written alone."""

    files: tuple[str, ...]

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted == found

    def size(self, setting: Setting) -> float:
        return 0

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        return changed_files(self.files, old, new)
