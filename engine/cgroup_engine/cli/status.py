"""``cgroup-engine status``: wanted against found, drift marked."""

from __future__ import annotations

import argparse
import sys

from cgroup_engine.cli.messages import warn_of
from cgroup_engine.cli.node_and_pods import node_and_pods
from cgroup_engine.cli.options import add_node_options, add_output, add_pods, add_root
from cgroup_engine.cli.root import by_systemd, found_at_root
from cgroup_engine.cli.written_file import write_file
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.plan.status import compare, differs
from cgroup_engine.views.fit import misfits
from cgroup_engine.views.render import Printer, print_status

EPILOG = (
    'The exit code is 0 with and without drift; with --check it is 1 if anything differs. In JSON and YAML "drift"\n'
    "says the same. Containers that wait for their runtime are no drift.\n\n"
    "example:\n"
    "  cgroup-engine status --root /sys/fs/cgroup -o json pods.yaml\n"
    "  cgroup-engine status --root /sys/fs/cgroup --html tree.html pods.yaml"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_root(command)
    command.add_argument("--check", action="store_true", help="exit with 1 if anything differs")
    add_output(command)
    command.add_argument("--html", metavar="FILE", help="write a page with the tree, what is used, and drift instead")
    add_node_options(command)
    add_pods(command)


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    node, pods = node_and_pods(options, options.pods)
    found, node = found_at_root(options, node)
    wanted = wanted_tree(node, pods)
    rows = compare(wanted, found, node.driver, by_systemd=by_systemd(options, node))
    unfit = misfits(node, pods, wanted)
    if options.html is not None:
        from cgroup_engine.views.tree_page import found_page

        write_file(options.html, found_page(node, wanted, rows, found))
    else:
        print_status(Printer(sys.stdout), rows, found.layout.name, options.output, unfit)
    warn_of([misfit.text for misfit in unfit])
    return 1 if options.check and any(differs(row) for row in rows) else 0
