"""The cluster that kubectl would ask."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from cgroup_engine.sources.cluster_api import ClusterApi


def cluster_of(options: argparse.Namespace) -> ClusterApi:
    """The API server of --kubeconfig and --context; by default that of kubectl, and in a pod the pod's own.

    :raises ApiServerError: there is no usable configuration.
    """
    return ClusterApi(kubectls_config(options), options.context)


def kubectls_config(options: argparse.Namespace) -> Path | None:
    """--kubeconfig, $KUBECONFIG (which may name several files), or ~/.kube/config; None if there is none of them."""
    given = options.kubeconfig or os.environ.get("KUBECONFIG")
    if given:
        return Path(given)
    usual = Path.home() / ".kube" / "config"
    return usual if usual.exists() else None
