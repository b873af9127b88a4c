"""Limits of huge pages, by size.

The kernel (mm/hugetlb_cgroup.c) rounds bytes down to whole huge pages. A new cgroup has no limit: ``max`` on v2, and
up to 2^63 on v1. The kubelet's own "no limit", 2^62, is a number for the kernel, and is shown as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from cgroup_engine.model.hugepages import kernel_name, resource_of_page_size
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.tree.knobs.knob import Knob, PlainKnob, Setting
from cgroup_engine.tree.knobs.memory import V1_NO_LIMIT
from cgroup_engine.tree.layout import Controller


@dataclass(frozen=True)
class Hugetlb(PlainKnob):
    """The limit of one size of huge pages, and the same limit of their reservations (since kernel 5.7).

    libcontainer writes both since runc 1.1.10 (October 2023), and the limit alone before.
    """

    field: Field
    page: int  # bytes
    files: tuple[str, ...]
    default: Setting
    controller: Controller = "hugetlb"

    def given(self, limits: CgroupLimits) -> bool:
        return self.page in limits.hugepages

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return (str(limits.hugepages[self.page]),) * len(self.files) if self.given(limits) else None

    def same(self, wanted: str, found: str, file: str) -> bool:
        return self._pages(wanted) == self._pages(found)

    def _pages(self, text: str) -> float:
        return math.inf if text == "max" else int(text) // self.page

    def size(self, setting: Setting) -> float:
        return self._pages(setting[0])

    def unit(self) -> str:
        return "bytes"


def hugetlb_knob(version: Literal[1, 2], page: int, *, reservations: bool = True) -> Knob:
    """The knob of one size of huge pages; ``page``: bytes. ``reservations``: is their limit (rsvd) written too?"""
    end, default = ("limit_in_bytes", str(V1_NO_LIMIT)) if version == 1 else ("max", "max")
    files = tuple(f"hugetlb.{kernel_name(page)}.{kind}{end}" for kind in (("", "rsvd.") if reservations else ("",)))
    return Hugetlb(resource_of_page_size(page), page, files, (default,) * len(files))
