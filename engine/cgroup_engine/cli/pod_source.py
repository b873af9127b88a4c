"""The source of pods that ``run`` follows."""

from __future__ import annotations

import argparse
from pathlib import Path

from cgroup_engine.cli.node_and_pods import asks_apiserver, kubeconfig_of
from cgroup_engine.inputs.static_pods.manifest import Manifests
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.sources.apiserver import apiserver_source
from cgroup_engine.sources.files import pod_source
from cgroup_engine.sources.source import PodSource


def pod_source_of(options: argparse.Namespace, node: NodeConfig, manifests: Manifests) -> PodSource:
    """The source of the node's pods.

    :raises PodError: a path does not exist.
    :raises ApiServerError: there is no usable configuration for the API server.
    """
    if asks_apiserver(options, options.pods):
        return apiserver_source(kubeconfig_of(options), manifests.node_name, node.version)
    return pod_source([Path(path) for path in options.pods], node.version, manifests, options.node_name)
