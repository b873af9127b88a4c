"""The interface files of each controller: which kernel has which in which layout, as the model's tables say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, reduce
from operator import or_

from fakecgroup import Kernel, Processes, personalities
from fakecgroup.core.cftype import CFType, Where
from fakecgroup.core.hierarchy import Hierarchy

CORE = "core"
"""Stands for the files that no controller has."""

KERNELS = tuple(sorted({version for _, version in personalities()}, key=lambda text: [*map(int, text.split("."))]))
"""Every kernel that can be played, the oldest first."""


_PLACES = {Where.ROOT: "root only", Where.CHILD: "not in the root", Where.BOTH: "all"}


@dataclass
class InterfaceFile:
    """A file of one controller on the unified hierarchy or on v1. `layouts` has those with the file by kernel.

    `rows` has the rows of the controller's table by kernel: one, or one for the root and one for the others.
    """

    controller: str
    unified: bool
    name: str
    layouts: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, list[CFType]] = field(default_factory=dict)

    @property
    def kernels(self) -> list[str]:
        """The kernels that have it, the oldest first."""
        return [kernel for kernel in KERNELS if kernel in self.layouts]

    @property
    def configs(self) -> set[str]:
        """The build options without which kernels do not have it."""
        return {row.config for rows in self.rows.values() for row in rows if row.config}

    @property
    def mode(self) -> str:
        """The mode bits when it is made, such as 0644."""
        return self.by_kernel(lambda kernel: " ".join(sorted({f"{row.permissions:04o}" for row in self.rows[kernel]})))

    @property
    def where(self) -> str:
        """The cgroups that have it."""
        return self.by_kernel(lambda kernel: _PLACES[reduce(or_, (row.where for row in self.rows[kernel]))])

    def by_kernel(self, of: Callable[[str], str]) -> str:
        """What `of` says of each kernel: once if it is the same of all, else with the kernels."""
        said: dict[str, list[str]] = {}
        for kernel in self.kernels:
            said.setdefault(of(kernel), []).append(kernel)
        if len(said) == 1:
            return next(iter(said))
        return ", ".join(f"{text} ({' '.join(kernels)})" for text, kernels in said.items())


def machine(
    layout: str, version: str, processes: Processes | None = None, clock: Callable[[], int] = lambda: 0
) -> Kernel:
    """A new kernel on a machine that has all that a file may need: nodes, huge pages, disks, swap."""
    return Kernel(
        layout,
        version,
        cpus=4,
        numa_nodes=2,
        swap="1Gi",
        block_devices="259:0,259:1",
        processes=processes,
        clock=clock,
    )


def directory(kernel: Kernel, hierarchy: Hierarchy) -> str:
    """The path of a hierarchy's root, without a slash at its end."""
    if kernel.root is hierarchy.root:
        return ""
    return next(f"/{name}" for name in kernel.listdir("/") if kernel.walk(f"/{name}", follow=False) is hierarchy.root)


def hierarchies() -> Iterator[tuple[str, str, Hierarchy]]:
    """Layout, kernel and hierarchy of all that can be played."""
    for layout, version in personalities():
        for hierarchy in machine(layout, version).hierarchies:
            yield layout, version, hierarchy


@cache
def controllers() -> tuple[str, ...]:
    """The controllers in the kernel's order, after the core."""
    names = [name for _, _, hierarchy in hierarchies() for name in hierarchy.controllers]
    return (CORE, *dict.fromkeys(names))


@cache
def files_of(controller: str, *, unified: bool) -> tuple[InterfaceFile, ...]:
    """The files of a controller on the unified hierarchy or on v1, in the order of the kernel's table."""
    found: dict[str, InterfaceFile] = {}
    for layout, version, hierarchy in hierarchies():
        if hierarchy.dfl != unified:
            continue
        for entry in [*hierarchy.child_table.values(), *hierarchy.root_table.values()]:
            if (entry.controller or CORE) != controller:
                continue
            name = entry.row.name
            file = found.setdefault(name, InterfaceFile(controller, unified, name))
            layouts = file.layouts.setdefault(version, [])
            if layout not in layouts:
                layouts.append(layout)
            rows = file.rows.setdefault(version, [])
            if entry.row not in rows:
                rows.append(entry.row)
    return tuple(found.values())
