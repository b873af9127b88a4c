"""`--target host` on a kernel that is none of ours: which one it is most like, and where it differs."""

from __future__ import annotations

import argparse
import os

from fakecgroup import personalities
from fakecgroup.conformance.nearest import ranked
from fakecgroup.conformance.nearest_report import print_nearest
from fakecgroup_mount.conformance.learn_host import ask_host_layout, host_options
from fakecgroup_mount.conformance.question import layout_here
from fakecgroup_mount.errors import MountError


def is_unknown_host(options: argparse.Namespace) -> bool:
    """True if this machine's kernel is asked, no other is named, and no recording is of its version."""
    if options.target != "host" or options.kernel or options.fuzz is not None:
        return False
    series = ".".join(os.uname().release.split(".")[:2])
    return (options.layout or layout_here(), series) not in personalities()


def compare_unknown_host(options: argparse.Namespace) -> int:
    """Returns 0 if a known kernel answers the same, else 1. Raises MountError."""
    if options.output not in ("table", "json"):
        raise MountError("which kernel this is most like is told as table or json: take one, or name a --kernel")
    if options.shard or options.family or options.machine:
        raise MountError("all cases tell which kernel this is most like: leave --shard, --family and --machine out")
    layout = options.layout or layout_here()
    found = ranked(ask_host_layout(layout))
    print_nearest(os.uname().release, layout, found, options.output, options.show, host_options())
    return 1 if found[0].different else 0
