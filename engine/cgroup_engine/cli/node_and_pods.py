"""The node and its pods, from the options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cgroup_engine.cli import machine
from cgroup_engine.cli.messages import warn_of
from cgroup_engine.cli.options import oci_runtime
from cgroup_engine.inputs.config import feature_gates, node_config, read_config, static_pod_path
from cgroup_engine.inputs.config.overrides import with_overrides
from cgroup_engine.inputs.pod_checks import overflows
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.inputs.static_pods.manifest import Manifests, node_name_of_machine
from cgroup_engine.inputs.whose_pods import check_node_name, of_node, unscheduled_note
from cgroup_engine.kubelet.allocation import allocation_note
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.hugepages import huge_pages_of_machine
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod


def node_of(options: argparse.Namespace) -> tuple[NodeConfig, Manifests]:
    """The node that the options describe, and the manifests of its static pods; prints warnings.

    :raises ConfigError: the configuration cannot be used.
    """
    fields, where = read_config(Path(options.config) if options.config is not None else None)
    fields = with_overrides(fields, getattr(options, "overrides", ()))
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
    )
    node = replace(
        node,
        weight_formulas=options.cpu_weight,
        oci_runtime=oci_runtime(options.runtime_version, options.runtime),
        sandboxes=options.sandboxes,
    )
    warn_of(node.warnings)
    return node, Manifests(options.node_name or node_name_of_machine(), static_pod_path(fields, where))


def node_and_pods(options: argparse.Namespace, pod_paths: Sequence[str]) -> tuple[NodeConfig, list[Pod]]:
    """The node and its pods; prints warnings.

    :raises ConfigError: the configuration cannot be used.
    :raises PodError: a file or a pod in it cannot be used.
    :raises ApiServerError: the API server cannot be asked.
    """
    asked = asks_apiserver(options, pod_paths)
    node, manifests = node_of(options)
    if asked:
        from cgroup_engine.sources.apiserver import apiserver_pods  # a laptop need not have its library

        pods = apiserver_pods(kubeconfig_of(options), manifests.node_name, node.version)
    else:
        pods = pods_of_files(options, [Path(path) for path in pod_paths], node.version, manifests)
    warn_of(
        [f"{pod.source}: no metadata.uid: read as the static pod {pod}, UID {pod.uid}" for pod in pods if pod.hashed]
    )
    warn_of([line for pod in pods for line in overflows(pod)])
    warn_of([f"{pod.source}: pod {pod}: {note}" for pod in pods if (note := allocation_note(pod))])
    return node, pods


def pods_of_files(
    options: argparse.Namespace, paths: Sequence[Path], version: KubeletVersion, manifests: Manifests | None = None
) -> list[Pod]:
    """The pods in files that are on the node --node-name, or on the only one that they name; prints warnings.

    :raises PodError: a file or a pod in it cannot be used, or the pods are on several nodes, or none is on the node.
    """
    notes: list[str] = []
    found = read_pods(paths, version, manifests, notes)
    check_node_name(found, options.node_name)
    pods = of_node(found, options.node_name)
    warn_of([note for note in (*notes, unscheduled_note(found)) if note])
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


def _huge_pages_at(options: argparse.Namespace) -> dict[int, int]:
    """This machine's huge pages for its own root, none for any other: a fake has none by default."""
    root = getattr(options, "root", None)
    of_machine = root is None or Path(os.path.realpath(root)).is_relative_to("/sys/fs/cgroup")
    return huge_pages_of_machine() if of_machine else {}
