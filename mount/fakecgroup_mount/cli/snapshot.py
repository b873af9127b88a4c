"""`fakecgroup snapshot`: a node's tree of cgroups, or a fake's, as one file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from fakecgroup.snapshot import SnapshotError, read_snapshot, redacted, told_of, write_snapshot
from fakecgroup.snapshot.files import replaced
from fakecgroup_mount.capture.node import snapshot_of
from fakecgroup_mount.cli.name_options import add_name_options
from fakecgroup_mount.control.client import ask, takes_commands
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fakecgroup snapshot`."""
    parser.add_argument(
        "root", metavar="ROOT", help="where the tree is, such as /sys/fs/cgroup; or a snapshot, to write it anew"
    )
    parser.add_argument("-o", dest="output", metavar="FILE", required=True, help="the file to write")
    add_name_options(parser)


def run(options: argparse.Namespace) -> int:
    """Returns 0, 1 for what a daemon refuses, 2 for a file that is no snapshot. Raises MountError."""
    try:
        told, left_out = take(options)
    except CommandError as error:
        print(f"fakecgroup snapshot: {error}", file=sys.stderr)
        return error.status
    except SnapshotError as error:
        print(f"fakecgroup snapshot: {error}", file=sys.stderr)
        return 2
    tell("fakecgroup snapshot", told, left_out)
    return 0


def tell(command: str, told: str, left_out: list[str]) -> None:
    """Prints what `take` returns."""
    for line in left_out:
        print(f"{command}: left out: {line}", file=sys.stderr)
    print(told)


def take(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Writes the snapshot of a tree. Returns a line for people, and what was left out.

    Raises MountError, SnapshotError, CommandError.
    """
    if os.path.isfile(options.root):
        snapshot = read_snapshot(options.root)
    elif takes_commands(options.root):
        return of_fake(options.root, options)
    else:
        snapshot = snapshot_of(options.root, names=not options.no_names)
    if options.redact:
        snapshot = redacted(snapshot)
    with _writing(options.output):
        write_snapshot(snapshot, options.output)
    return told_of(snapshot), snapshot.left_out


def of_fake(root: str, options: argparse.Namespace) -> tuple[str, list[str]]:
    """As `take`, of a tree of ours: its daemon writes, which knows more than the files show."""
    words = {"names": "" if options.no_names else "yes", "redact": "yes" if options.redact else ""}
    with _writing(options.output), replaced(options.output) as descriptor:
        answer = ask(root, "snapshot", words, descriptor)
    told, left_out = answer.get("told"), answer.get("left_out")
    return shown(str(told)), [shown(str(line)) for line in left_out] if isinstance(left_out, list) else []


@contextmanager
def _writing(output: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MountError(f"-o {shown(output)}: {error.strerror}") from None
