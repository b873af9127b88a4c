"""Which kubelet configuration a node has: `--configs DIR`.

A file is named after a node, or after the value of a node's pool label, or `default`, and ends in .yaml, .yml or .json.
It is a KubeletConfiguration, or what a kubelet's /configz answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cgroup_engine.errors import ApiServerError, ConfigError
from cgroup_engine.inputs.config import read_config
from cgroup_engine.sources.cluster_api import ClusterApi

POOL_LABELS = (
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "node-pool",
)
"""The labels that name a node's pool, if `--pool-label` says no other."""

_SUFFIXES = (".yaml", ".yml", ".json")
_DEFAULT = "default"


@dataclass(frozen=True)
class Configs:
    """Configurations by the name of their file. Without one a node has the defaults of its release."""

    by_name: Mapping[str, tuple[Mapping[str, Any], str]] = field(default_factory=dict)
    labels: tuple[str, ...] = POOL_LABELS

    def of(self, node: str, labels: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
        """The fields of a node's configuration, and the file that they are from, "" for none."""
        names = [node, *(labels[label] for label in self.labels if isinstance(labels.get(label), str)), _DEFAULT]
        return next((self.by_name[name] for name in names if name in self.by_name), ({}, ""))


def read_configs(directory: Path | None, labels: Sequence[str] = ()) -> Configs:
    """Reads a directory of configurations.

    :raises ConfigError: it cannot be read, a file is no configuration, or two have the same name.
    """
    chosen = (*labels, *POOL_LABELS)
    if directory is None:
        return Configs(labels=chosen)
    try:
        files = sorted(entry for entry in directory.iterdir() if entry.suffix in _SUFFIXES)
    except OSError as failed:
        raise ConfigError(
            f"{directory}: cannot be read: {failed.strerror}", path=str(directory), errno=failed.errno
        ) from None
    found: dict[str, tuple[Mapping[str, Any], str]] = {}
    for file in files:
        if file.stem in found:
            raise ConfigError(
                f"{file}: {found[file.stem][1]} has the same name", path=str(file), todo="leave one of them"
            )
        found[file.stem] = read_config(file)
    return Configs(found, chosen)


def of_kubelets(configs: Configs, nodes: Iterable[str], api: ClusterApi) -> tuple[Configs, list[str]]:
    """The configurations that the kubelets themselves tell, else those that are there; and who tells none, and why."""
    told: dict[str, tuple[Mapping[str, Any], str]] = {}
    silent: dict[str, list[str]] = {}
    for node in nodes:
        try:
            told[node] = api.kubelet_configuration(node), f"configz of {node}"
        except ApiServerError as failed:
            silent.setdefault(str(failed), []).append(node)
    notes = [f"the configuration of {len(names):,} nodes, such as {names[0]}: {why}" for why, names in silent.items()]
    return replace(configs, by_name={**configs.by_name, **told}), notes
