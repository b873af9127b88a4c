"""`fakecgroup umount`: takes a tree away."""

from __future__ import annotations

import argparse

from fakecgroup_mount.fuse.umount import umount
from fakecgroup_mount.host.mountinfo import real_path


def add_options(parser: argparse.ArgumentParser) -> None:
    """The directory, and what to do where it is in use."""
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "--force",
        action="store_true",
        help="end the daemon too, whoever uses the tree, here or in another mount namespace, and even if it is stopped",
    )


def run(options: argparse.Namespace) -> int:
    """Returns the exit status."""
    umount(real_path(options.dir), force=options.force)
    return 0
