"""The workload of a pod: the object of the API whose controller made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def workload_of(metadata: Mapping[str, Any]) -> str:
    """KIND/NAME of the controller in metadata.ownerReferences; "" without one, and for a static pod's mirror.

    A ReplicaSet whose name ends in the pod's label pod-template-hash stands for its Deployment.
    """
    owners, labels = metadata.get("ownerReferences"), metadata.get("labels")
    for owner in owners if isinstance(owners, list) else ():
        if not isinstance(owner, dict) or owner.get("controller") is not True or owner.get("kind") == "Node":
            continue
        kind, name = str(owner.get("kind", "")), str(owner.get("name", ""))
        suffix = f"-{labels.get('pod-template-hash')}" if isinstance(labels, dict) else ""
        if kind == "ReplicaSet" and suffix != "-None" and suffix and name.endswith(suffix):
            return f"Deployment/{name.removesuffix(suffix)}"
        return f"{kind}/{name}"
    return ""
