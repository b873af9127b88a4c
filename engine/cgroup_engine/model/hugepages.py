"""Huge pages: their sizes, as the pod API and the kernel name them, and their limits.

Sources: ``pkg/apis/core/v1/helper`` (HugePageSizeFromResourceName), ``pkg/kubelet/cm/helpers_linux.go``
(HugePageLimits).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from cgroup_engine.errors import QuantityError, quoted
from cgroup_engine.model.quantity import Quantity, from_bytes, parse, wrapped

PREFIX = "hugepages-"
UNLIMITED = 1 << 62  # the kubelet's "no limit"; the kernel rounds it
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_OF_MACHINE = Path("/sys/kernel/mm/hugepages")
_MACHINE_DIRECTORY = re.compile(r"hugepages-([0-9]{1,9})kB", re.ASCII)
_CGROUP_FILE = re.compile(r"hugetlb\.([0-9]{1,9})(KB|MB|GB)\.(?:max|limit_in_bytes)", re.ASCII)
_UNITS = {"KB": _KIB, "MB": _MIB, "GB": _GIB}


def hugepage_limits(amounts: Mapping[str, Quantity]) -> dict[int, int]:
    """HugePageLimits: bytes of a page -> bytes of limit.

    Two names of one size (2Mi, 2048Ki) add up. A name that is no size counts as size 0, which no node has.
    """
    limits: dict[int, int] = {}
    for name, amount in amounts.items():
        if name.startswith(PREFIX):
            size = _size_or_zero(name)
            limits[size] = wrapped(limits.get(size, 0) + amount.value())
    return limits


def _size_or_zero(name: str) -> int:
    try:
        return page_size_of_resource(name)
    except QuantityError:
        return 0


def page_size_of_resource(name: str) -> int:
    """Bytes of a page of the resource ``hugepages-2Mi``.

    :raises QuantityError: the name does not end in a whole number of bytes above zero.
    """
    text = name.removeprefix(PREFIX)
    size = parse(text)
    if size.sign() <= 0 or not size.fits() or size.value() * 10**9 != size.nano:
        raise QuantityError(
            f"{quoted(text)} is not a size of huge pages", value=text, todo="write one such as hugepages-2Mi"
        )
    return size.value()


def resource_of_page_size(size: int) -> str:
    """``hugepages-2Mi`` for 2097152 bytes."""
    return f"{PREFIX}{from_bytes(size)}"


def kernel_name(size: int) -> str:
    """``2MB`` for 2097152 bytes, as in ``hugetlb.2MB.max`` (mem_fmt in mm/hugetlb_cgroup.c)."""
    if size >= _GIB:
        return f"{size // _GIB}GB"
    return f"{size // _MIB}MB" if size >= _MIB else f"{size // _KIB}KB"


def page_size_of_file(name: str) -> int | None:
    """Bytes of a page for ``hugetlb.2MB.max`` or ``hugetlb.2MB.limit_in_bytes``; None for every other file."""
    match = _CGROUP_FILE.fullmatch(name)
    return int(match[1]) * _UNITS[match[2]] if match else None


def huge_pages_of_machine(directory: Path = _OF_MACHINE) -> dict[int, int]:
    """This machine's sizes of huge pages -> bytes of such pages; empty if its kernel has none.

    The kubelet reads the sizes in the same place (libcontainer's HugePageSizes), and cadvisor the numbers.
    """
    found = {}
    for entry in sorted(directory.iterdir()) if directory.is_dir() else ():
        if match := _MACHINE_DIRECTORY.fullmatch(entry.name):
            size = int(match[1]) * _KIB
            found[size] = size * int((entry / "nr_hugepages").read_text(encoding="ascii"))
    return dict(sorted(found.items()))
