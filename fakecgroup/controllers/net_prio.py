"""The v1 net_prio controller (net/core/netprio_cgroup.c): a priority per network interface.

The only interface is `lo`.
"""

from __future__ import annotations

from errno import EINVAL, ENODEV, ENOSPC
from heapq import heappop, heappush

from ..core.cftype import CFType
from ..core.css import Controller, Css
from ..parse import scan_decimal, scan_word
from ..refuse import refuse

_IFNAMSIZ = 16
_INTERFACE = "lo"
_ID_MAX = 65535  # NETPRIO_ID_MAX


class _Ids:
    """Ids, of which the smallest free one is taken (the kernel's css_idr)."""

    def __init__(self) -> None:
        self._next = 1
        self._free: list[int] = []

    def take(self) -> int:
        if self._free:
            return heappop(self._free)
        self._next += 1
        return self._next - 1

    def give_back(self, number: int) -> None:
        heappush(self._free, number)


class NetPrio(Css):
    """`prioidx` is the id of the css, 1 in the root. `priority` is that of `lo`."""

    priority: int = 0

    def online(self) -> None:
        """Start with the parent's priority (cgrp_css_online). Raises ENOSPC after 65535 cgroups."""
        self._ids: _Ids = self.parent._ids if isinstance(self.parent, NetPrio) else _Ids()
        self.prioidx = self._ids.take()
        if self.prioidx > _ID_MAX:
            raise refuse(ENOSPC)
        if isinstance(self.parent, NetPrio) and self.parent.priority:
            self.priority = self.parent.priority

    def offline(self) -> None:
        self._ids.give_back(self.prioidx)


def read_prioidx(css: NetPrio) -> int:
    return css.prioidx


def show_ifpriomap(css: NetPrio) -> str:
    return f"{_INTERFACE} {css.priority}\n"


def write_ifpriomap(css: NetPrio, text: str) -> None:
    """Take `INTERFACE PRIORITY`, of which the low 32 bits are kept (write_priomap).

    Raises EINVAL for any other text, ENODEV for an unknown interface.
    """
    name, rest = scan_word(text, _IFNAMSIZ)
    priority, _ = scan_decimal(rest, saturate=css.kernel.saturates)
    if name is None or priority is None:
        raise refuse(EINVAL)
    if name != _INTERFACE:
        raise refuse(ENODEV)
    css.priority = priority & 0xFFFFFFFF


NET_PRIO = Controller(
    "net_prio",
    NetPrio,
    legacy=(
        CFType("net_prio.prioidx", read_u64=read_prioidx),
        CFType("net_prio.ifpriomap", show=show_ifpriomap, write=write_ifpriomap),
    ),
    config="CGROUP_NET_PRIO",
)
