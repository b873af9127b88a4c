"""Manifests of static pods, and the pod that a kubelet makes of a manifest without metadata.uid."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cgroup_engine.errors import PodError
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod

_HASH = "kubernetes.io/config.hash"
_SOURCE = "kubernetes.io/config.source"


def node_name_of_machine() -> str:
    """The name that a kubelet gives its node: the host's in small letters (GetHostname of component-helpers)."""
    return os.uname().nodename.strip().lower()


@dataclass(frozen=True)
class Manifests:
    """The manifests of one kubelet: its node's name, and the directory it reads (None: each file stays in place)."""

    node_name: str
    directory: str | None = None

    def path(self, file: Path) -> str:
        """The path under which the kubelet reads the file; the hash depends on it."""
        return os.path.join(self.directory, file.name) if self.directory is not None else os.path.abspath(file)

    def static_pod(self, item: Mapping[str, Any], pod: Pod, file: Path, version: KubeletVersion) -> Pod:
        """The pod that the kubelet makes of a manifest without metadata.uid; ``pod`` is ``item`` read, with defaults.

        Its UID is the hash, its name ends in the node's name, and annotations mark it as static (applyDefaults of
        ``pkg/kubelet/config/common.go``).

        :raises PodError: the hash cannot be computed.
        """
        # the hash takes the types of a whole Pod, and most pods have a UID
        from cgroup_engine.inputs.static_pods.not_covered import NotCoveredError
        from cgroup_engine.inputs.static_pods.uid import static_uid

        try:
            uid = static_uid(item, pod, version, self.node_name, self.path(file))
        except NotCoveredError as unknown:
            where = f"{pod.source}: pod {pod}"
            raise PodError(
                f"{where}: metadata.uid: is missing, and the kubelet's hash is not known: {unknown}",
                path=where,
                todo="add the UID that the kubelet gave the pod (its annotation kubernetes.io/config.hash)",
            ) from None
        return replace(
            pod,
            uid=uid,
            hashed=True,
            name=f"{pod.name}-{self.node_name}",
            annotations={**pod.annotations, _HASH: uid, _SOURCE: "file"},
        )
