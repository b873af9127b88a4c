"""Which names a snapshot has."""

from __future__ import annotations

import argparse


def add_name_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which names the file has."""
    parser.add_argument("--no-names", action="store_true", help="leave out the names and command lines of processes")
    parser.add_argument(
        "--redact",
        action="store_true",
        help="replace names of cgroups and processes, command lines and pids, equal ones by equal ones; "
        "kubepods, .slice and the shape of uids stay",
    )
