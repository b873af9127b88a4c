"""``cgroup-engine down``: removes what was made, and nothing else."""

from __future__ import annotations

import argparse

from cgroup_engine.cli.execute_plan import execute_and_tell
from cgroup_engine.cli.node_and_pods import node_of
from cgroup_engine.cli.options import add_node_options, add_root
from cgroup_engine.cli.ownership import add_ownership_options, ownership_of
from cgroup_engine.cli.root import found_at_root, systemd_of
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.plan.for_driver import down_plan_for_driver
from cgroup_engine.plan.step import Plan

EPILOG = (
    "kubepods below cgroupRoot is removed with all pods in it. Nothing is removed while a process lives there, or\n"
    "if it holds a cgroup of someone else. cgroupRoot is removed if it is empty then. Values in the reserved\n"
    "cgroups are set to the kernel's defaults. On v2, controllers are disabled where no child is left.\n\n"
    "example:\n"
    "  cgroup-engine down --root /sys/fs/cgroup --config kubelet.yaml"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_root(command)
    add_node_options(command)
    add_ownership_options(command)


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    node, _ = node_of(options)
    found, node = found_at_root(options, node)
    look = "status only looks"
    with ownership_of(options, node, found, always=False, look=look) as ownership, systemd_of(options, node) as systemd:
        plan = down_plan_for_driver(wanted_tree(node, []), found, node.driver, systemd, recorded=ownership.recorded)
        for note in plan.kept:
            print(note)
        idle = f"nothing to remove ({found.layout.name})"
        code = execute_and_tell(Plan(plan.layout, plan.steps), found.fs, idle, systemd)
        if code == 0:
            ownership.forget()
        return code
