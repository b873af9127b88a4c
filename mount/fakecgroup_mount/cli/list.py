"""`fakecgroup list`: the trees that are mounted here, and what to do about those that do not answer."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timezone

from fakecgroup_mount.cli import table
from fakecgroup_mount.cli.table import GREEN, RED, YELLOW
from fakecgroup_mount.fuse import mounted_trees
from fakecgroup_mount.fuse.mounted_trees import MountedTree
from fakecgroup_mount.hints import quoted, shown

_HEAD = ("DIR", "STATE", "DAEMON", "LAYOUT", "KERNEL", "TRANSPORT", "SINCE", "CGROUPS")
_COLOURS = {
    mounted_trees.SERVES: GREEN,
    mounted_trees.PRIVATE: YELLOW,
    mounted_trees.COVERED: YELLOW,
    mounted_trees.STOPPED: RED,
    mounted_trees.SILENT: RED,
    mounted_trees.DEAD: RED,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `list`."""
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")


def run(options: argparse.Namespace) -> int:
    """Prints the list; returns 0. Raises MountError where no process can be started."""
    trees = mounted_trees.mounted_trees()
    if options.output == "json":
        print(json.dumps({"mounts": [_as_json(tree) for tree in trees]}, indent=2))
    elif trees:
        _print(trees)
    else:
        print("no trees are mounted here")
    return 0


def _print(trees: list[MountedTree]) -> None:
    for line in table.lines([_HEAD, *map(_cells, trees)], _COLOURS, sys.stdout):
        print(line)
    for tree in trees:
        if (todo := _todo(tree)) is not None:
            print(f"{shown(tree.path)}: {todo}")


def _cells(tree: MountedTree) -> tuple[str, ...]:
    facts = tree.facts
    return (
        shown(tree.path),
        tree.state,
        "-" if tree.pid is None else str(tree.pid),
        *(("-", "-", "-") if facts is None else (facts.layout, facts.kernel, facts.transport)),
        "-" if tree.since is None else f"{datetime.fromtimestamp(tree.since):%Y-%m-%d %H:%M:%S}",
        "-" if facts is None else str(facts.cgroups),
    )


def _as_json(tree: MountedTree) -> dict[str, object]:
    facts = tree.facts
    since = None if tree.since is None else datetime.fromtimestamp(tree.since, timezone.utc)
    return {
        "dir": tree.path,
        "state": tree.state,
        "pid": tree.pid,
        "layout": facts and facts.layout,
        "kernel": facts and facts.kernel,
        "transport": facts and facts.transport,
        "since": since and since.isoformat(timespec="seconds"),
        "cgroups": facts and facts.cgroups,
        "todo": _todo(tree),
    }


def _todo(tree: MountedTree) -> str | None:
    """What is wrong with a tree and what mends it; None for one that serves."""
    umount = f"fakecgroup umount {quoted(tree.path)}"
    force = f"fakecgroup umount --force {quoted(tree.path)}"
    who = "its daemon" if tree.pid is None else f"its daemon (pid {tree.pid})"
    go_on = "" if tree.pid is None else f"kill -CONT {tree.pid} lets it go on; "
    return {
        mounted_trees.DEAD: f"its daemon has ended: {umount} takes the mount away",
        mounted_trees.STOPPED: f"{who} is stopped: {go_on}{force} ends it",
        mounted_trees.SILENT: f"{who} does not answer: {force} ends it",
        mounted_trees.PRIVATE: "this user may not ask it: its mounter may",
        mounted_trees.COVERED: "another mount lies over it: unmount that first",
    }.get(tree.state)
