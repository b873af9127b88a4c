"""A KubeletConfiguration file (kubelet.config.k8s.io/v1beta1), and the fields that are read before all others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cgroup_engine.errors import ConfigError, quoted
from cgroup_engine.inputs.documents import read_documents

API_VERSION = "kubelet.config.k8s.io/v1beta1"


def read_config(path: Path | None) -> tuple[Mapping[str, Any], str]:
    """The fields of a KubeletConfiguration file and its name for messages; no file is an empty configuration.

    The answer of a kubelet's ``/configz`` is taken too.

    :raises ConfigError: not one KubeletConfiguration of v1beta1.
    """
    if path is None:
        return {}, "kubelet configuration"
    documents = read_documents(path, ConfigError)
    if len(documents) == 1 and isinstance(documents[0], dict) and isinstance(documents[0].get("kubeletconfig"), dict):
        return documents[0]["kubeletconfig"], str(path)  # what a kubelet's /configz answers
    configs = [d for d in documents if isinstance(d, dict) and d.get("kind") == "KubeletConfiguration"]
    if len(configs) != 1 or len(documents) != 1:
        raise ConfigError(
            f"{path}: holds {len(configs)} KubeletConfiguration objects in {len(documents)} documents",
            path=str(path),
            todo="give a file with exactly one and nothing else",
        )
    if configs[0].get("apiVersion") != API_VERSION:
        raise ConfigError(
            f"{path}: apiVersion: {quoted(configs[0].get('apiVersion'))} is not {API_VERSION}",
            path=str(path),
            todo="convert the file",
        )
    return configs[0], str(path)


def static_pod_path(fields: Mapping[str, Any], where: str) -> str | None:
    """staticPodPath, None if it is not given; a relative one is beside the configuration, as the kubelet reads it.

    :raises ConfigError: it is no text.
    """
    path = fields.get("staticPodPath")
    if path is None or path == "":
        return None
    if not isinstance(path, str):
        raise ConfigError(f"{where}: staticPodPath: {quoted(path)} is not a text", path=where, todo="give a directory")
    return os.path.abspath(os.path.join(os.path.dirname(where), path))


def feature_gates(fields: Mapping[str, Any], where: str) -> dict[str, bool]:
    """featureGates of a configuration.

    :raises ConfigError: not a mapping of names to true or false.
    """
    gates = fields.get("featureGates") or {}
    if not isinstance(gates, dict) or not all(isinstance(k, str) and isinstance(v, bool) for k, v in gates.items()):
        raise ConfigError(f"{where}: featureGates: is not a mapping of names to true or false", path=where)
    return gates
