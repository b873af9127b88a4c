"""The v1 freezer (kernel/cgroup/legacy_freezer.c). The tasks of a frozen group count as frozen at once."""

from __future__ import annotations

from errno import EINVAL

from ..core.cftype import CFType, Where
from ..core.css import Controller, Css
from ..parse import strstrip
from ..refuse import refuse

_STATES = {"THAWED": False, "FROZEN": True}


def show_state(css: Css) -> str:
    return "FROZEN\n" if css.cgroup.frozen else "THAWED\n"


def write_state(css: Css, text: str) -> None:
    """Take FROZEN or THAWED; below a frozen ancestor THAWED has no effect yet (freezer_write). Raises EINVAL."""
    freeze = _STATES.get(strstrip(text))
    if freeze is None:
        raise refuse(EINVAL)
    css.cgroup.freeze = freeze
    css.cgroup.hierarchy.freeze_tasks(css.cgroup)


def read_self_freezing(css: Css) -> int:
    """1 if FROZEN was written to this group (CGROUP_FREEZING_SELF)."""
    return int(css.cgroup.freeze)


def read_parent_freezing(css: Css) -> int:
    """1 if an ancestor is frozen (CGROUP_FREEZING_PARENT)."""
    parent = css.cgroup.parent
    return int(parent is not None and parent.frozen)


FREEZER = Controller(
    "freezer",
    Css,
    legacy=(
        CFType("freezer.state", Where.CHILD, show=show_state, write=write_state),
        CFType("freezer.self_freezing", Where.CHILD, read_u64=read_self_freezing),
        CFType("freezer.parent_freezing", Where.CHILD, read_u64=read_parent_freezing),
    ),
)
