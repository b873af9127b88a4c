"""The questions: every module yields the cases of one family.  The recordings hold the kernels' answers.

A case is the same for every kernel; what a kernel does not have answers ENOENT.
"""

from __future__ import annotations

from importlib import import_module

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.values import GROUPS
from fakecgroup.conformance.recording import PLAIN, SWAP

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
    "threads",
    "freeze",
    "delegation",
    "namespaces",
    "copying",
    "cpu",
    "memory",
    "kernel_memory",
    "pids",
    "cpuset",
    "partitions",
    "affinity",
    "hotplug",
    "io",
    "hugetlb",
    "rdma_misc",
    "pressure",
    "events",
    "devices",
    "capabilities",
    "net",
)


#: What a machine with swap is asked: which files there are, and what memory does.
SWAP_FAMILIES = ("file_sets", "memory", "kernel_memory", "reclaim")


def cases_of(family: str) -> list[Case]:
    """The cases of one family, all layouts."""
    return list(import_module(f"{__name__}.{family}").cases())


def families(machine: str = PLAIN) -> tuple[str, ...]:
    """What one of ``recording.MACHINES`` is asked."""
    return SWAP_FAMILIES if machine == SWAP else FAMILIES


def all_cases(layout: str, machine: str = PLAIN) -> dict[str, list[Case]]:
    """The cases of a layout that one of ``recording.MACHINES`` is asked, by family; names are unique in a layout."""
    return {
        family: [case for case in cases_of(family) if case.layout == layout and _is_for(machine, case)]
        for family in families(machine)
    }


def _is_for(machine: str, case: Case) -> bool:
    """With swap, not how numbers are parsed, and not the files of other controllers."""
    parses = any(case.name.endswith(f" parses {group}") for group in GROUPS)
    return machine == PLAIN or ("memory" in str(case.ops) and not parses)
