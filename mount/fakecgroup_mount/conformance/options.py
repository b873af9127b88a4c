"""The options of `fakecgroup conformance`."""

from __future__ import annotations

import argparse

from fakecgroup import personalities
from fakecgroup.conformance.recording import MACHINES
from fakecgroup.conformance.report import OUTPUTS
from fakecgroup.conformance.shard import Shard
from fakecgroup.machine.options import READERS
from fakecgroup_mount.conformance.explain import add_explain
from fakecgroup_mount.conformance.vm_options import add_vm_options


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fakecgroup conformance`."""
    parser.add_argument(
        "--target",
        default="model",
        metavar="DIR|model|host|vm",
        help="model (default): the model in this process; DIR: an empty fakecgroup mount; host: own cgroups on "
        "this machine, as root or as a user to whom some are delegated; vm: a booted kernel",
    )
    layouts = dict.fromkeys(layout for layout, _ in personalities())
    parser.add_argument("--layout", choices=list(layouts), help="default: v2, for host what this machine has")
    parser.add_argument(
        "--kernel",
        type=_kernel,
        metavar="VERSION|FILE.kernel",
        help="whose answers to compare with (default: the layout's first; for host its own, or the nearest if that is "
        "unknown); or a learnt kernel's file",
    )
    parser.add_argument(
        "--machine",
        choices=MACHINES,
        help="of the recordings: swap is one with 64 MiB of swap, asked about memory (default: for the model both, "
        "else plain)",
    )
    parser.add_argument(
        "--family", action="append", metavar="NAME", help="only cases of this family; may be given more than once"
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="part I of N of the cases, from 1/N; the parts take about as long each, and all together are the whole",
    )
    parser.add_argument(
        "--fuzz", type=_positive, metavar="N", help="about N random operations on the model and a booted kernel instead"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the random operations (default: 1)")
    parser.add_argument(
        "-o",
        dest="output",
        choices=OUTPUTS,
        default="table",
        help="table (default); json; junit, XML as CI servers read it; tap, the Test Anything Protocol",
    )
    parser.add_argument(
        "--show",
        type=int,
        default=10,
        metavar="N",
        help="print the first N differences in front of the table (default: 10)",
    )
    add_vm_options(parser)
    commands = parser.add_subparsers(dest="conformance", metavar="COMMAND", title="instead of running cases")
    add_explain(commands)


def _kernel(text: str) -> object:
    try:
        return READERS["kernel"](text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of operations: 1 or more")
    return int(text)


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
