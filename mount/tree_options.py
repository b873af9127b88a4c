"""The command line's options for what tree there is, and the model that they describe."""

from __future__ import annotations

import argparse
import os

from fakecgroup import Kernel, Processes, personalities

from .size import SUFFIXES, parse_size


def add_tree_options(parser: argparse.ArgumentParser) -> None:
    """Adds --layout, --kernel, --cpus, --numa-nodes and --memory."""
    known = ", ".join(f"{version} for {layout}" for layout, version in personalities())
    group = parser.add_argument_group("the tree")
    layouts = list(dict.fromkeys(layout for layout, _ in personalities()))
    group.add_argument(
        "--layout", choices=layouts, default="v2", help="v2: the unified hierarchy; v1: a directory per hierarchy"
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


def make_kernel(options: argparse.Namespace, processes: Processes | None = None) -> Kernel:
    """The model for parsed options. Raises ValueError for a kernel version that this layout has not."""
    return Kernel(
        layout=options.layout,
        version=options.kernel,
        cpus=options.cpus,
        numa_nodes=options.numa_nodes,
        memory=options.memory,
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
