"""The node and its pods, from the options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cgroup_engine.cli import machine
from cgroup_engine.cli.manager_states import with_manager_states, with_states_of
from cgroup_engine.cli.messages import warn_of
from cgroup_engine.cli.options import oci_runtime
from cgroup_engine.errors import ConfigRefusedError
from cgroup_engine.inputs.config import feature_gates, node_config, read_config, static_pod_path
from cgroup_engine.inputs.config.overrides import with_overrides
from cgroup_engine.inputs.pod_checks import overflows
from cgroup_engine.inputs.pods import read_pods_of_versions
from cgroup_engine.inputs.static_pods.manifest import Manifests, node_name_of_machine
from cgroup_engine.inputs.whose_pods import check_node_name, of_node, unscheduled_note
from cgroup_engine.kubelet.allocation import allocation_note
from cgroup_engine.kubelet.assigned_cpus import unassigned_note
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.hugepages import huge_pages_of_machine
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod


def node_of(options: argparse.Namespace, like: NodeConfig | None = None) -> tuple[NodeConfig, Manifests]:
    """The node that the options describe, and the manifests of its static pods; prints warnings.

    ``like``: a node whose managers' states hold for this one, instead of those that the options name.

    :raises ConfigError: the configuration cannot be used.
    """
    fields, where = read_config(Path(options.config) if options.config is not None else None)
    overrides = getattr(options, "overrides", ())
    fields = with_overrides(fields, overrides)
    try:
        node = node_config(
            fields,
            where,
            version=KubeletVersion(options.kubelet_version.minor, feature_gates(fields, where)),
            cpus=options.cpus or machine.online_cpus(),
            memory=options.memory or machine.meminfo("MemTotal"),
            max_pids=options.max_pids or machine.max_pids(),
            swap=options.swap if options.swap is not None else machine.meminfo("SwapTotal"),
            huge_pages=options.hugepages if options.hugepages is not None else _huge_pages_at(options),
            driver=options.driver,
            runtime=options.runtime,
            runtime_driver=options.runtime_driver,
            swap_is_on=_swap_is_on(options),
            accept_invalid=options.accept_invalid or (options.config is None and not overrides),
        )
    except ConfigRefusedError as refused:
        refused.todo = f"{refused.todo}, or give --accept-invalid"
        raise
    node = replace(
        node,
        weight_formulas=options.cpu_weight,
        oci_runtime=oci_runtime(options.runtime_version, options.runtime),
        sandboxes=options.sandboxes,
    )
    node = with_states_of(node, like) if like is not None else with_manager_states(node, options)
    warn_of(node.warnings)
    return node, Manifests(options.node_name or node_name_of_machine(), static_pod_path(fields, where))


def node_and_pods(options: argparse.Namespace, pod_paths: Sequence[str]) -> tuple[NodeConfig, list[Pod]]:
    """The node and its pods; prints warnings.

    :raises ConfigError: the configuration cannot be used.
    :raises PodError: a file or a pod in it cannot be used.
    :raises ApiServerError: the API server cannot be asked.
    """
    asks_apiserver(options, pod_paths)
    node, manifests = node_of(options)
    [pods] = pods_of_versions(options, pod_paths, [node.version], manifests)
    warn_of([f"{pod.source}: pod {pod}: {note}" for pod in pods if (note := unassigned_note(node, pod))])
    return node, pods


def pods_of_versions(
    options: argparse.Namespace, pod_paths: Sequence[str], versions: Sequence[KubeletVersion], manifests: Manifests
) -> list[list[Pod]]:
    """The node's pods as each kubelet reads them; prints warnings of the first.

    :raises PodError: a file or a pod in it cannot be used.
    :raises ApiServerError: the API server cannot be asked.
    """
    if asks_apiserver(options, pod_paths):
        from cgroup_engine.sources.apiserver import apiserver_pods  # a laptop need not have its library

        found = [apiserver_pods(kubeconfig_of(options), manifests.node_name, version) for version in versions]
    else:
        found = _in_files(options, [Path(path) for path in pod_paths], versions, manifests)
    pods = found[0]
    warn_of(
        [f"{pod.source}: no metadata.uid: read as the static pod {pod}, UID {pod.uid}" for pod in pods if pod.hashed]
    )
    warn_of([line for pod in pods for line in overflows(pod)])
    warn_of([f"{pod.source}: pod {pod}: {note}" for pod in pods if (note := allocation_note(pod))])
    return found


def pods_of_files(options: argparse.Namespace, paths: Sequence[Path], version: KubeletVersion) -> list[Pod]:
    """The pods in files that are on the node --node-name, or on the only one that they name; prints warnings.

    :raises PodError: a file or a pod in it cannot be used, or the pods are on several nodes, or none is on the node.
    """
    return _in_files(options, paths, [version], None)[0]


def _in_files(
    options: argparse.Namespace,
    paths: Sequence[Path],
    versions: Sequence[KubeletVersion],
    manifests: Manifests | None,
) -> list[list[Pod]]:
    notes: list[str] = []
    found = read_pods_of_versions(paths, versions, manifests, notes)
    check_node_name(found[0], options.node_name)
    pods = [of_node(each, options.node_name) for each in found]
    warn_of([note for note in (*notes, unscheduled_note(found[0])) if note])
    return pods


def asks_apiserver(options: argparse.Namespace, pod_paths: Sequence[str]) -> bool:
    """Do the pods come from an API server? Exits as argparse does if the options name two sources or none."""
    asked = getattr(options, "pods_from", None) is not None
    if asked and pod_paths:
        options.wrong("PODS and --pods apiserver exclude each other")
    if not asked and not pod_paths:
        options.wrong("the following arguments are required: PODS, or --pods apiserver")
    if not asked and getattr(options, "kubeconfig", None) is not None:
        options.wrong("--kubeconfig goes with --pods apiserver")
    return asked


def kubeconfig_of(options: argparse.Namespace) -> Path | None:
    return None if options.kubeconfig is None else Path(options.kubeconfig)


def _swap_is_on(options: argparse.Namespace) -> bool:
    """Is there swap by --swap or, for this machine's own root, on this machine? Of another machine nothing is known."""
    if options.swap is not None:
        return bool(options.swap)
    return getattr(options, "root", None) is not None and _is_own(options.root) and machine.meminfo("SwapTotal") > 0


def _is_own(root: str) -> bool:
    return Path(os.path.realpath(root)).is_relative_to("/sys/fs/cgroup")


def _huge_pages_at(options: argparse.Namespace) -> dict[int, int]:
    """This machine's huge pages for its own root, none for any other: a fake has none by default."""
    root = getattr(options, "root", None)
    return huge_pages_of_machine() if root is None or _is_own(root) else {}
