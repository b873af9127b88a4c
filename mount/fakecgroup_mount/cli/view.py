"""`fakecgroup view`: a tree of cgroups, or a snapshot, as one page."""

from __future__ import annotations

import argparse
import os
import sys

from fakecgroup.snapshot import SnapshotError, read_snapshot
from fakecgroup.snapshot.as_page import page_of
from fakecgroup.snapshot.files import replaced
from fakecgroup_mount.capture.node import snapshot_of
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fakecgroup view`."""
    parser.add_argument(
        "root", metavar="ROOT|SNAPSHOT", help="where the tree is, such as /sys/fs/cgroup; or a snapshot"
    )
    parser.add_argument("-o", dest="output", metavar="FILE.html", required=True, help="the page to write")


def run(options: argparse.Namespace) -> int:
    """Returns 0, 2 for a file that is no snapshot. Raises MountError."""
    try:
        snapshot = read_snapshot(options.root) if os.path.isfile(options.root) else snapshot_of(options.root)
    except SnapshotError as error:
        print(f"fakecgroup view: {error}", file=sys.stderr)
        return 2
    text = page_of(snapshot, shown(options.root))
    try:
        with replaced(options.output) as descriptor, open(descriptor, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)
    except OSError as error:
        raise MountError(f"-o {shown(options.output)}: {error.strerror}") from None
    return 0
