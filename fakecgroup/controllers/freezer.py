"""The v1 freezer (kernel/cgroup/legacy_freezer.c). A task of a frozen group counts as frozen at once."""

from __future__ import annotations

from errno import EINVAL

from ..cftype import CFType, Where
from ..css import Controller, Css
from ..parse import strstrip
from ..refuse import refuse

_STATES = {"THAWED": False, "FROZEN": True}


class Freezer(Css):
    """`self_freezing` is what was written here."""

    self_freezing: bool = False

    @property
    def parent_freezing(self) -> bool:
        """An ancestor was told to freeze (CGROUP_FREEZING_PARENT)."""
        css = self.parent
        while isinstance(css, Freezer):
            if css.self_freezing:
                return True
            css = css.parent
        return False


def show_state(css: Freezer) -> str:
    return "FROZEN\n" if css.self_freezing or css.parent_freezing else "THAWED\n"


def write_state(css: Freezer, text: str) -> None:
    """FROZEN or THAWED, else EINVAL; below a frozen ancestor THAWED changes nothing yet (freezer_write)."""
    freeze = _STATES.get(strstrip(text))
    if freeze is None:
        raise refuse(EINVAL)
    css.self_freezing = freeze


def read_self_freezing(css: Freezer) -> int:
    return int(css.self_freezing)


def read_parent_freezing(css: Freezer) -> int:
    return int(css.parent_freezing)


FREEZER = Controller(
    "freezer",
    Freezer,
    legacy=(
        CFType("freezer.state", Where.CHILD, show=show_state, write=write_state),
        CFType("freezer.self_freezing", Where.CHILD, read_u64=read_self_freezing),
        CFType("freezer.parent_freezing", Where.CHILD, read_u64=read_parent_freezing),
    ),
)
