"""The container that exec and attach are given, looked up in the record or computed from PODS."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from cgroup_engine.change.record import RecordedContainer, RecordedPod, recorded_pods, records_at
from cgroup_engine.cli.messages import warn_of
from cgroup_engine.cli.node_and_pods import node_and_pods
from cgroup_engine.cli.options import add_node_options, add_root
from cgroup_engine.cli.ownership import add_state_dir, state_dir
from cgroup_engine.cli.root import found_at_root
from cgroup_engine.errors import RecordError
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.tree.fs import CgroupFs, OsFs
from cgroup_engine.tree.layout import Layout, detect
from cgroup_engine.views.pod_choice import chosen


@dataclass(frozen=True)
class TargetContainer:
    """A container and its root; processes enter its cgroup."""

    fs: CgroupFs
    layout: Layout
    pod: RecordedPod
    container: RecordedContainer

    def __str__(self) -> str:
        return f"{self.pod}/{self.container.name}"


def add_container(command: argparse.ArgumentParser) -> None:
    """The options, and the container as first argument."""
    add_root(command)
    add_state_dir(command)
    command.add_argument(
        "--pods",
        action="append",
        default=[],
        metavar="PODS",
        help="compute the container's place from these files and the node's options, instead of looking it up in the "
        "record; can be repeated",
    )
    add_node_options(command)
    command.add_argument(
        "pod", metavar="[NAMESPACE/]POD[/CONTAINER]", help="a pod's name or UID, and its container if it has several"
    )


def target_of(options: argparse.Namespace) -> TargetContainer:
    """The container that the options name.

    :raises EngineError: the root, the record or PODS cannot be used, or not exactly one container is named.
    """
    if options.pods:
        node, pods = node_and_pods(options, options.pods)
        found, node = found_at_root(options, node)
        wanted = recorded_pods(wanted_tree(node, pods))
        return TargetContainer(found.fs, found.layout, *chosen(options.pod, wanted))
    fs: CgroupFs = options.open_root(options.root)
    layout = detect(fs, options.root)
    records, ignored = records_at(state_dir(options), options.root, layout) if isinstance(fs, OsFs) else ([], [])
    warn_of(ignored)
    if not records:
        raise RecordError(
            f"{state_dir(options)}: no record tells of pods at {options.root}",
            path=options.root,
            todo="apply makes one; or give --pods",
        )
    return TargetContainer(fs, layout, *chosen(options.pod, [pod for record in records for pod in record.pods]))
