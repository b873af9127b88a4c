"""The v1 net_prio controller (net/core/netprio_cgroup.c): a priority per network interface of the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from errno import EINVAL, ENODEV, ENOSPC
from heapq import heappop, heappush
from types import MappingProxyType

from ..core.cftype import CFType, shown_number
from ..core.css import Controller, Css
from ..parse import scan_decimal, scan_word
from ..refuse import refuse

_IFNAMSIZ = 16
_ID_MAX = 65535  # NETPRIO_ID_MAX


class Ids:
    """Ids, of which the smallest free one is taken (the kernel's css_idr)."""

    _next: int
    _free: list[int]  # and some that were reserved since
    _held: Counter[int]

    def __init__(self) -> None:
        self._next = 1
        self._free = []
        self._held = Counter()

    def take(self) -> int:
        while self._free:
            number = heappop(self._free)
            if not self._held[number]:
                break
        else:
            number = self._next
            self._next += 1
        self._held[number] += 1
        return number

    def reserve(self, number: int) -> None:
        """Take an id, for a while perhaps one that is taken."""
        for skipped in range(self._next, number + 1):
            heappush(self._free, skipped)
        self._next = max(self._next, number + 1)
        self._held[number] += 1

    def give_back(self, number: int) -> None:
        self._held[number] -= 1
        if not self._held[number]:
            del self._held[number]
            heappush(self._free, number)


class NetPrio(Css):
    """`prioidx` is the id of the css, 1 in the root. `priorities` are those of interfaces, where they are not 0."""

    priorities: Mapping[str, int] = MappingProxyType({})
    prioidx: int
    ids: Ids

    def online(self) -> None:
        """Start with the parent's priorities (cgrp_css_online). Raises ENOSPC after 65535 cgroups."""
        self.ids = self.parent.ids if isinstance(self.parent, NetPrio) else Ids()
        self.prioidx = self.ids.take()
        if self.prioidx > _ID_MAX:
            raise refuse(ENOSPC)
        if isinstance(self.parent, NetPrio) and self.parent.priorities:
            self.priorities = self.parent.priorities

    def offline(self) -> None:
        self.ids.give_back(self.prioidx)


def read_prioidx(css: NetPrio) -> int:
    return css.prioidx


def recall_prioidx(css: NetPrio, text: str) -> None:
    """Take another id."""
    number = shown_number(text)
    if not 1 <= number <= _ID_MAX:
        raise ValueError(f"{number} is no id")
    css.ids.reserve(number)
    css.ids.give_back(css.prioidx)
    css.prioidx = number


def show_ifpriomap(css: NetPrio) -> str:
    return "".join(f"{name} {css.priorities.get(name, 0)}\n" for name in css.machine.interfaces)


def write_ifpriomap(css: NetPrio, text: str) -> None:
    """Take `INTERFACE PRIORITY`, of which the low 32 bits are kept (write_priomap).

    Raises EINVAL for any other text, ENODEV for an unknown interface.
    """
    name, rest = scan_word(text, _IFNAMSIZ)
    priority, _ = scan_decimal(rest, saturate=css.kernel.saturates)
    if name is None or priority is None:
        raise refuse(EINVAL)
    if name not in css.machine.interfaces:
        raise refuse(ENODEV)
    css.priorities = {**css.priorities, name: priority & 0xFFFFFFFF}


NET_PRIO = Controller(
    "net_prio",
    NetPrio,
    legacy=(
        CFType("net_prio.prioidx", read_u64=read_prioidx, recall=recall_prioidx),
        CFType("net_prio.ifpriomap", show=show_ifpriomap, write=write_ifpriomap),
    ),
    config="CGROUP_NET_PRIO",
)
