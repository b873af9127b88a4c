"""The v1 net_cls controller (net/core/netclassid_cgroup.c): the traffic control class of a group's packets."""

from __future__ import annotations

from ..core.cftype import CFType
from ..core.css import Controller, Css


class NetCls(Css):
    """`classid` is a 32-bit tc handle, with the major number in the upper half."""

    classid: int = 0

    def online(self) -> None:
        """Start with the parent's classid (cgrp_css_online)."""
        if isinstance(self.parent, NetCls) and self.parent.classid:
            self.classid = self.parent.classid


def read_classid(css: NetCls) -> int:
    return css.classid


def write_classid(css: NetCls, value: int) -> None:
    """Take any number, of which the low 32 bits are kept (write_classid)."""
    css.classid = value & 0xFFFFFFFF


NET_CLS = Controller(
    "net_cls",
    NetCls,
    legacy=(CFType("net_cls.classid", read_u64=read_classid, write_u64=write_classid),),
    config="CGROUP_NET_CLASSID",
)
