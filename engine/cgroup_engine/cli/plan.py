"""``cgroup-engine plan``: the steps in order, and why; changes nothing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cgroup_engine.cli.messages import warn_of
from cgroup_engine.cli.node_and_pods import node_and_pods, pods_of_files
from cgroup_engine.cli.options import add_node_options, add_output, add_pods, add_root
from cgroup_engine.cli.root import found_at_root, found_tree, systemd_of
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.for_driver import plan_for_driver
from cgroup_engine.plan.system_cgroups import with_moves
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.views.fit import misfits
from cgroup_engine.views.render import Printer, print_plan

EPILOG = (
    "With --from the plan resizes pods in place, in the kubelet's order. PODS are the same pods with other CPU and\n"
    "memory. It fails if an API server or a kubelet would refuse the resize. Without --root it plans for cgroup v2;\n"
    "with --root it starts from the values and the memory in use there.\n\n"
    "examples:\n"
    "  cgroup-engine plan --root /sys/fs/cgroup --config kubelet.yaml pods/\n"
    "  cgroup-engine plan --from before.yaml after.yaml"
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    add_root(command, required=False)
    command.add_argument(
        "--from", dest="resized_from", metavar="OLD.yaml", help="resize these pods in place to the resources in PODS"
    )
    add_output(command)
    add_node_options(command)
    add_pods(command)


def run_command(options: argparse.Namespace) -> int:
    """Runs the command; returns its exit code. Raises EngineError."""
    if options.root is None and options.resized_from is None:
        options.wrong("--root is required, but for --from")
    node, pods = node_and_pods(options, options.pods)
    if options.resized_from is not None:
        return _resize(options, node, [pod.asked or pod for pod in pods])
    found, node = found_at_root(options, node)
    wanted = wanted_tree(node, pods)
    with systemd_of(options, node) as systemd:
        plan = with_moves(plan_for_driver(wanted, found, node.driver, systemd), node, found)
    scores = {cgroup.owner: cgroup.oom_score_adj for cgroup in wanted if cgroup.oom_score_adj is not None}
    if node.kubelet_cgroups:
        scores["kubelet"] = node.kubelet_oom_score_adj
    unfit = misfits(node, pods, wanted)
    print_plan(Printer(sys.stdout), plan, scores, options.output, unfit)
    warn_of([*plan.kept, *(misfit.text for misfit in unfit)])
    return 0


def _resize(options: argparse.Namespace, node: NodeConfig, pods: Sequence[Pod]) -> int:
    from cgroup_engine.plan.as_applied import TreeAsApplied
    from cgroup_engine.plan.resize import resize_plan

    old = pods_of_files(options, [Path(options.resized_from)], node.version)
    if options.root is None:
        found: FoundTree = TreeAsApplied(wanted_tree(node, old))
    else:
        found = found_tree(options, node)
        node = replace(node, cgroup_version=found.layout.version)
    print_plan(Printer(sys.stdout), resize_plan(node, old, pods, found), {}, options.output)
    return 0
