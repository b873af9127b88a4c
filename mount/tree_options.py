"""The command line's options for what tree there is, and the model that they describe."""

from __future__ import annotations

import argparse
import os

from fakecgroup import Kernel, Processes, personalities
from fakecgroup.machine import HUGE_PAGES, KNOWN_HUGE_PAGES

from .size import SUFFIXES, parse_size


def add_tree_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which kernel on which machine."""
    layouts = list(dict.fromkeys(layout for layout, _ in personalities()))
    known = "; ".join(f"{of}: {' '.join(v for layout, v in personalities() if layout == of)}" for of in layouts)
    group = parser.add_argument_group("the tree")
    group.add_argument(
        "--layout",
        choices=layouts,
        default="v2",
        help="v2: the unified hierarchy; v1: a directory per hierarchy; hybrid: v1 and unified/",
    )
    group.add_argument("--kernel", metavar="V", help=f"whose answers to give: {known} (default: the layout's first)")
    group.add_argument("--cpus", type=_count, metavar="N", default=os.cpu_count() or 1, help="default: this machine's")
    group.add_argument("--numa-nodes", type=_count, metavar="N", default=1, help="default: 1")
    group.add_argument(
        "--memory",
        type=_size,
        metavar="SIZE",
        default=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        help=f"suffixes: {SUFFIXES}; default: this machine's",
    )
    group.add_argument(
        "--swap",
        type=_swap,
        metavar="SIZE",
        default=0,
        help="default: none; it shows in no file, as no cgroup here has memory in use that could be swapped out",
    )
    group.add_argument(
        "--hugepages",
        type=_huge_pages,
        metavar="SIZE=N,...",
        default=HUGE_PAGES,
        help="such as 2Mi=64,1Gi=0: which sizes have files (default: these two, and for run what else this "
        "machine has, such as 64Ki and 32Mi on arm64; no page of any)",
    )
    group.add_argument(
        "--block-devices",
        type=_block_devices,
        metavar="M:N,...",
        default=(),
        help="whole disks by number, such as 259:0,259:1 (default: none)",
    )


def make_kernel(options: argparse.Namespace, processes: Processes | None = None) -> Kernel:
    """The model for parsed options. Raises ValueError for a kernel version that this layout has not."""
    return Kernel(
        layout=options.layout,
        version=options.kernel,
        cpus=options.cpus,
        numa_nodes=options.numa_nodes,
        memory=options.memory,
        swap=options.swap,
        block_devices=options.block_devices,
        huge_pages=options.hugepages,
        processes=processes,
    )


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return value


def _size(text: str) -> int:
    try:
        value = parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if value < 1:
        raise argparse.ArgumentTypeError("a machine without memory cannot be played")
    return value


def _swap(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _huge_pages(text: str) -> frozenset[int]:
    """The sizes in bytes of `SIZE=N,...`."""
    sizes = set()
    for pair in text.split(","):
        size, equals, number = pair.partition("=")
        if not equals or not number.isdecimal():
            raise argparse.ArgumentTypeError(f"{pair!r} is not SIZE=N, such as 2Mi=64")
        sizes.add(_swap(size))
        if _swap(size) not in KNOWN_HUGE_PAGES:
            raise argparse.ArgumentTypeError(f"there are no huge pages of {size}: 64Ki, 2Mi, 32Mi and 1Gi are known")
    return frozenset(sizes)


def _block_devices(text: str) -> tuple[str, ...]:
    """The devices of `M:N,...`."""
    devices = tuple(text.split(",")) if text else ()
    for device in devices:
        numbers = device.split(":")
        if len(numbers) != 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
            raise argparse.ArgumentTypeError(f"{device!r} is no block device: write its numbers, such as 259:0")
    return devices
