"""``cgroup-engine apply``: makes the tree as it should be and reads every write back."""

from __future__ import annotations

import argparse

from cgroup_engine.change.oom_score import set_kubelets_oom_score_adj
from cgroup_engine.cli.execute_plan import execute_and_tell
from cgroup_engine.cli.node_and_pods import node_and_pods
from cgroup_engine.cli.options import add_node_options, add_pods, add_root
from cgroup_engine.cli.ownership import add_ownership_options, ownership_of
from cgroup_engine.cli.root import found_at_root, systemd_of
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.plan.for_driver import plan_for_driver
from cgroup_engine.plan.system_cgroups import with_moves

EPILOG = (
    "A second apply writes nothing and says so. Pods and containers that are not in PODS any more are removed if no\n"
    "process lives in them. A missing cgroupRoot is made. Enforced reserved cgroups must exist.\n\n"
    "example:\n"
    "  cgroup-engine apply --root ./tree --cpus 3 --memory 8Gi pods.yaml"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_root(command)
    add_node_options(command)
    add_pods(command)
    add_ownership_options(command)


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    node, pods = node_and_pods(options, options.pods)
    found, node = found_at_root(options, node)
    wanted = wanted_tree(node, pods)
    look = "plan and status only look"
    with ownership_of(options, node, found, always=False, look=look) as ownership, systemd_of(options, node) as systemd:
        plan = with_moves(plan_for_driver(wanted, found, node.driver, systemd), node, found)
        set_kubelets_oom_score_adj(node)
        count = len(wanted) - len(plan.waiting)
        idle = f"nothing to do: {count} cgroups are as wanted ({found.layout.name})"
        ownership.record(wanted)
        code = execute_and_tell(plan, found.fs, idle, systemd)
        ownership.record(wanted)
    if plan.waiting:
        print(f"{len(plan.waiting)} containers wait for their runtime, which makes their cgroups")
    return code
