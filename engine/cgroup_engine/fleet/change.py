"""The change that a cluster is looked at for: `--diff-*`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from cgroup_engine.fleet.node_object import MAX_PIDS, SeenNode
from cgroup_engine.inputs.config import feature_gates, node_config
from cgroup_engine.inputs.config.overrides import with_overrides
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.oci_runtime import OciRuntime, parse_oci_runtime
from cgroup_engine.model.kubelet_version import KubeletVersion

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """What is to be changed on every node; what is None or empty stays as it is.

    `config` are the fields of another configuration and its name, `overrides` are fields as KEY=VALUE.
    """

    minor: int | None = None
    config: tuple[Fields, str] | None = None
    overrides: tuple[str, ...] = ()
    runtime_version: str | None = None
    cgroup_version: Literal[1, 2] | None = None

    def __bool__(self) -> bool:
        return self != Change()


NO_CHANGE = Change()


def configured(seen: SeenNode, fields: Fields, where: str, change: Change = NO_CHANGE) -> NodeConfig:
    """The configuration of a node, with a change.

    :raises ConfigError: its kubelet would not start.
    """
    if change.config is not None:
        fields, where = change.config
    fields = with_overrides(fields, change.overrides)
    where = where or "kubelet configuration"
    minor = seen.version.minor if change.minor is None else change.minor
    node = node_config(
        fields,
        where,
        version=KubeletVersion(minor, feature_gates(fields, where)),
        cpus=seen.cpus,
        memory=seen.memory,
        max_pids=MAX_PIDS,
        swap=seen.swap,
        huge_pages={page: total for page, total in seen.huge_pages.items() if total},
        runtime=seen.runtime,
        swap_is_on=seen.swap > 0,
    )
    if seen.max_pods is not None and "maxPods" not in fields:
        node = replace(node, max_pods=seen.max_pods)
    return replace(
        node,
        oci_runtime=_oci_runtime(seen, change),
        cgroup_version=change.cgroup_version or seen.cgroup_version,
    )


def _oci_runtime(seen: SeenNode, change: Change) -> OciRuntime | None:
    if change.runtime_version is not None:
        return parse_oci_runtime(change.runtime_version, seen.runtime)
    # another kubelet does not bring another runtime
    return seen.oci_runtime or configured_runtime(seen)


def configured_runtime(seen: SeenNode) -> OciRuntime:
    """The OCI runtime of a node that does not tell it: that of its kubelet's release date."""
    from cgroup_engine.kubelet.oci_runtime import assumed

    return assumed(seen.version, seen.runtime)
