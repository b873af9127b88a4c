"""Lock and record of kubepods, for the commands that change a tree."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cgroup_engine.change.ownership import Ownership, kubepods_path, owning
from cgroup_engine.change.record import VARIABLE, state_directory
from cgroup_engine.cli.messages import warn_of
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import MACHINE_ROOT, OsFs


def add_state_dir(command: argparse.ArgumentParser) -> None:
    """--state-dir."""
    command.add_argument(
        "--state-dir",
        metavar="DIR",
        help=f"directory of the records of what was made (default: ${VARIABLE}, else /run/cgroup-engine for root, "
        "else one of the user's own)",
    )


def add_ownership_options(command: argparse.ArgumentParser) -> None:
    """The options of a command that changes a tree."""
    add_state_dir(command)
    command.add_argument(
        "--take-over",
        action="store_true",
        help="manage a kubepods although no record says that this engine made it",
    )


def state_dir(options: argparse.Namespace) -> Path:
    """The directory of the records."""
    return Path(options.state_dir) if options.state_dir is not None else state_directory()


@contextmanager
def ownership_of(
    options: argparse.Namespace, node: NodeConfig, found: FoundTree, *, always: bool, look: str
) -> Iterator[Ownership]:
    """Holds the lock. ``always``: refuse a foreign kubepods on every root, not only on this machine's own.

    ``look``: the commands that show a foreign kubepods without changing it, for the error.

    :raises EngineError: see ``cgroup_engine.change.ownership.owning``.
    """
    root = options.root if isinstance(found.fs, OsFs) else None
    own = root is not None and Path(os.path.realpath(root)).is_relative_to(MACHINE_ROOT)
    otherwise = f"give --take-over if it shall manage it all the same; {look}"
    refuse = (always or own) and not options.take_over
    with owning(
        found, kubepods_path(node), root, state_dir(options), refuse_foreign=refuse, otherwise=otherwise
    ) as ownership:
        warn_of([ownership.warning] if ownership.warning else [])
        yield ownership
