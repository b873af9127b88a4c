"""--enforce of the command line: which limits act on real processes."""

from __future__ import annotations

import argparse

ENFORCEABLE = ("memory", "cpu", "cpuset")
"""The controllers whose limits can act on real processes."""
LIST_HELP = f"all, none, or of {', '.join(ENFORCEABLE)} with commas between them"


def add_enforce_option(parser: argparse.ArgumentParser) -> None:
    """Adds --enforce; `enforce` in the namespace is a set of controllers."""
    parser.add_argument_group("real processes").add_argument(
        "--enforce",
        type=read_enforced,
        default=frozenset(),
        metavar="LIST",
        help=f"limits that act on real processes: all, none (default), or of {', '.join(ENFORCEABLE)}; memory: over "
        "memory.max the OOM killer's choice gets SIGKILL; cpu: over cpu.max processes wait for the next period, and "
        "busy groups share the CPUs by cpu.weight; "
        "cpuset: processes run on the CPUs of their cpuset",
    )


def read_enforced(text: str) -> frozenset[str]:
    """The controllers of a list with commas, or of `all` or `none`. Raises ArgumentTypeError."""
    if text in ("all", "none"):
        return frozenset(ENFORCEABLE if text == "all" else ())
    names = text.split(",")
    for name in names:
        if name not in ENFORCEABLE:
            raise argparse.ArgumentTypeError(f"{name!r} cannot be enforced: all, none, or of {', '.join(ENFORCEABLE)}")
    return frozenset(names)
