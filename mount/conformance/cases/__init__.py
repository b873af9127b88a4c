"""The questions: every module yields the cases of one family.  The recordings hold the kernels' answers.

A case is the same for every kernel; what a kernel does not have answers ENOENT.
"""

from __future__ import annotations

from importlib import import_module

from ..case import Case

FAMILIES = (
    "file_sets",
    "kernfs",
    "handles",
    "names",
    "xattr",
    "core_v2",
    "core_v1",
    "release",
    "hybrid",
    "processes",
    "threaded",
    "freeze",
    "delegation",
    "cpu",
    "memory",
    "kernel_memory",
    "pids",
    "cpuset",
    "io",
    "hugetlb",
    "rdma_misc",
    "pressure",
    "devices",
    "net",
)


def cases_of(family: str) -> list[Case]:
    """The cases of one family, all layouts."""
    return list(import_module(f"{__name__}.{family}").cases())


def all_cases(layout: str) -> dict[str, list[Case]]:
    """Every case of a layout by family; names are unique within a layout."""
    return {family: [case for case in cases_of(family) if case.layout == layout] for family in FAMILIES}
