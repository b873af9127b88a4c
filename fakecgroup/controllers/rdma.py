"""The rdma controller (kernel/cgroup/rdma.c) on a machine without RDMA devices: every file is empty."""

from __future__ import annotations

from errno import ENODEV

from ..cftype import CFType, Where
from ..css import Controller, Css
from ..refuse import refuse


def show_devices(css: Css) -> str:
    return ""


def write_max(css: Css, text: str) -> None:
    """ENODEV: the first word names no device (rdmacg_resource_set_max)."""
    raise refuse(ENODEV)


_FILES = (
    CFType("rdma.max", Where.CHILD, show=show_devices, write=write_max),
    CFType("rdma.current", Where.CHILD, show=show_devices),
    CFType("rdma.peak", Where.CHILD, since=(7, 2), show=show_devices),
    CFType("rdma.events", Where.CHILD, since=(7, 2), show=show_devices),
    CFType("rdma.events.local", Where.CHILD, since=(7, 2), show=show_devices),
)

RDMA = Controller("rdma", Css, dfl=_FILES, legacy=_FILES)
