"""--faults of the command line: rules that make operations of a tree fail."""

from __future__ import annotations

import argparse

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.hints import shown
from fakecgroup_mount.tree_options import make_kernel
from fakecgroup_mount.workload_options import read_text


class FaultOptions(NamedTuple):
    """The text of a file of rules, the name it is told by, and whether errnos are taken that the kernel cannot give."""

    text: str = ""
    name: str = ""
    any_errno: bool = False


NO_FAULTS = FaultOptions()


def add_fault_options(parser: argparse.ArgumentParser) -> None:
    """Adds --faults and --any-errno."""
    group = parser.add_argument_group("faults")
    group.add_argument(
        "--faults",
        metavar="FILE",
        help="rules (- is standard input), one a line, such as: write */memory.max = 1*error(EBUSY)->off",
    )
    group.add_argument(
        "--any-errno", action="store_true", help="take errnos in rules that this kernel gives for no such call"
    )


def read_faults(options: argparse.Namespace) -> FaultOptions:
    """Reads the rules, and tries them on a kernel without a mount first.

    Raises ValueError for a wrong rule, MountError for a file that cannot be read.
    """
    if options.faults is None:
        return NO_FAULTS
    from fakecgroup.faults import Faults  # takes a while to load

    name = "standard input" if options.faults == "-" else shown(options.faults)
    given = FaultOptions(read_text(options.faults), name, options.any_errno)
    Faults(make_kernel(options), panic=lambda: None).add_all(*given[:2], any_errno=given.any_errno)
    return given
