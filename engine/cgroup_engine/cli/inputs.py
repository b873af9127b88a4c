"""What a command works on: the node and its pods from the options, the tree at the root, the machine's systemd."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from cgroup_engine.change.systemd.bus import THE_MACHINES_OWN, Systemd, connect
from cgroup_engine.cli import machine
from cgroup_engine.cli.messages import warn_of
from cgroup_engine.errors import RootError
from cgroup_engine.inputs.config import feature_gates, node_config, read_config, static_pod_path
from cgroup_engine.inputs.pod_checks import overflows
from cgroup_engine.inputs.pods import read_pods
from cgroup_engine.inputs.static_pods.manifest import Manifests, node_name_of_machine
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.hugepages import huge_pages_of_machine
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.apiserver import apiserver_pods, apiserver_source
from cgroup_engine.sources.files import pod_source
from cgroup_engine.sources.source import PodSource
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import CgroupFs, OsFs
from cgroup_engine.tree.layout import detect


def node_of(options: argparse.Namespace) -> tuple[NodeConfig, Manifests]:
    """The node that the options describe, and how its static pods get their UIDs; warns of what is odd.

    :raises ConfigError: the configuration cannot be used.
    """
    fields, where = read_config(Path(options.config) if options.config is not None else None)
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
    node = replace(node, weight_formulas=options.cpu_weight, sandboxes=options.sandboxes)
    warn_of(node.warnings)
    return node, Manifests(options.node_name or node_name_of_machine(), static_pod_path(fields, where))


def inputs(options: argparse.Namespace, pod_paths: Sequence[str]) -> tuple[NodeConfig, list[Pod]]:
    """The node and its pods; warns of what is odd.

    :raises ConfigError: the configuration cannot be used.
    :raises PodError: a file or a pod in it cannot be used.
    :raises ApiServerError: the API server cannot be asked.
    """
    asked = asks_apiserver(options, pod_paths)
    node, manifests = node_of(options)
    if asked:
        pods = apiserver_pods(_kubeconfig(options), manifests.node_name, node.version)
    else:
        pods = read_pods([Path(path) for path in pod_paths], node.version, manifests)
    warn_of(
        [f"{pod.source}: no metadata.uid: read as the static pod {pod}, UID {pod.uid}" for pod in pods if pod.hashed]
    )
    warn_of([line for pod in pods for line in overflows(pod)])
    return node, pods


def pod_source_of(options: argparse.Namespace, node: NodeConfig, manifests: Manifests) -> PodSource:
    """Where the node's pods come and go.

    :raises PodError: a path does not exist.
    :raises ApiServerError: there is no usable configuration for the API server.
    """
    if asks_apiserver(options, options.pods):
        return apiserver_source(_kubeconfig(options), manifests.node_name, node.version)
    return pod_source([Path(path) for path in options.pods], node.version, manifests)


def asks_apiserver(options: argparse.Namespace, pod_paths: Sequence[str]) -> bool:
    """Are the pods an API server's? Ends the program, as argparse does, if they are to come from two places or none."""
    asked = getattr(options, "pods_from", None) is not None
    if asked and pod_paths:
        options.wrong("PODS and --pods apiserver exclude each other")
    if not asked and not pod_paths:
        options.wrong("the following arguments are required: PODS, or --pods apiserver")
    if not asked and getattr(options, "kubeconfig", None) is not None:
        options.wrong("--kubeconfig goes with --pods apiserver")
    return asked


def _kubeconfig(options: argparse.Namespace) -> Path | None:
    return None if options.kubeconfig is None else Path(options.kubeconfig)


def found_tree(options: argparse.Namespace, node: NodeConfig) -> FoundTree:
    """The tree at --root; warns where a kubelet would not start on it.

    :raises RootError: it is no cgroup tree, or read-only and to be changed.
    """
    fs: CgroupFs = options.open_root(options.root)
    layout = detect(fs, options.root)
    if layout.version == 1 and node.fail_cgroup_v1:
        warn_of([f"a kubelet {node.version} does not start on cgroup v1 unless failCgroupV1 is false"])
    if layout.version == 1 and node.single_process_oom_kill is False:
        warn_of([f"a kubelet {node.version} does not start on cgroup v1 with singleProcessOOMKill: false"])
    changes = options.command in ("apply", "down") or (options.command == "run" and not options.dry_run)
    if isinstance(fs, OsFs) and changes:
        # of a v1 layout the root itself is a tmpfs, which systemd mounts read-only
        for tree in layout.trees:
            path = os.path.join(options.root, tree) if tree else options.root
            if os.statvfs(path).f_flag & os.ST_RDONLY:
                raise RootError(f"{path}: is mounted read-only", path=path, todo="mount it read-write")
    return FoundTree(fs, layout)


def at_root(node: NodeConfig, found: FoundTree) -> NodeConfig:
    """A node with what its root tells of it."""
    return replace(node, cgroup_version=found.layout.version, cpu_list=found.layout.cpus)


def found_at_root(options: argparse.Namespace, node: NodeConfig) -> tuple[FoundTree, NodeConfig]:
    """``found_tree``, and the node with what it tells.

    :raises RootError: as ``found_tree``.
    """
    found = found_tree(options, node)
    return found, at_root(node, found)


def by_systemd(options: argparse.Namespace, node: NodeConfig) -> bool:
    """Is this the tree that this machine's systemd manages, and the driver systemd's?"""
    own = os.path.realpath(options.root) == THE_MACHINES_OWN
    return node.driver == "systemd" and own and not options.systemd_names_only


@contextmanager
def systemd_of(options: argparse.Namespace, node: NodeConfig) -> Iterator[Systemd | None]:
    """The machine's systemd if the units are its to make, else None."""
    if not by_systemd(options, node):
        yield None
        return
    with closing(connect(options.root)) as systemd:
        yield systemd


def _huge_pages_at(options: argparse.Namespace) -> dict[int, int]:
    """This machine's huge pages, but none for another root than the machine's: a fake has none unless it is said."""
    root = getattr(options, "root", None)
    of_machine = root is None or Path(os.path.realpath(root)).is_relative_to("/sys/fs/cgroup")
    return huge_pages_of_machine() if of_machine else {}
