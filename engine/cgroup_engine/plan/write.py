"""The writes of one knob, pass by pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cgroup_engine.model.value import value
from cgroup_engine.tree.knobs import Knob, Setting

Pass = Literal["remove", "lower", "make", "settle"]


@value(frozen=True, slots=True)
class Write:
    """One write(2); ``order`` says what ``need`` and ``obstacle`` are."""

    knob: Knob
    file: str
    text: str
    need: str = ""
    obstacle: str = ""


@value(frozen=True, slots=True)
class PassWrites:
    """The writes of one knob of one cgroup, by pass."""

    lower: Sequence[Write] = ()
    make: Sequence[Write] = ()
    settle: Sequence[Write] = ()

    def of(self, during: Pass) -> Sequence[Write]:
        return {"lower": self.lower, "make": self.make, "settle": self.settle}.get(during, ())


NO_WRITES = PassWrites()


def same_setting(knob: Knob, found: Setting, wanted: Setting) -> bool:
    """Do the files show the wanted setting, allowing for the kernel's rounding?"""
    return found == wanted or all(
        knob.same(want, have, file) for want, have, file in zip(wanted, found, knob.files, strict=True)
    )


def writes_between(knob: Knob, old: Setting, new: Setting) -> list[Write]:
    """The writes from one setting to the other."""
    return [Write(knob, file, text) for file, text in knob.writes(old, new)]
