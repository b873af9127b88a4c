"""The misc controller (kernel/cgroup/misc.c) on a machine without misc resources: every file is empty."""

from __future__ import annotations

from errno import EINVAL

from ..core.cftype import CFType, Where
from ..core.css import Controller, Css
from ..refuse import refuse


def show_resources(css: Css) -> str:
    return ""


def write_max(css: Css, text: str) -> None:
    """Refuse any text: no resource has that name (misc_cg_max_write). Raises EINVAL."""
    raise refuse(EINVAL)


_FILES = (
    CFType("misc.max", Where.CHILD, show=show_resources, write=write_max),
    CFType("misc.current", Where.CHILD, until=(6, 12), show=show_resources, counts=True),
    CFType("misc.current", since=(6, 12), show=show_resources, counts=True),
    CFType("misc.peak", since=(6, 12), show=show_resources, counts=True),
    CFType("misc.capacity", Where.ROOT, show=show_resources),
    CFType("misc.events", Where.CHILD, show=show_resources, counts=True),
    CFType("misc.events.local", Where.CHILD, since=(6, 12), show=show_resources, counts=True),
)

MISC = Controller("misc", Css, dfl=_FILES, legacy=_FILES, config="CGROUP_MISC")
