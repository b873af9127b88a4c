"""The pods of ``scripts/cluster churn``, all of a namespace of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NAMESPACE = "churn"
LABEL = "churn.fakecgroup/batch"
"""Of each pod, and without a value of the namespace: one of that name without it is somebody else's."""

Resources = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Kind:
    """`resources`: of each container. `larger`: of the first container once the pod is resized in place."""

    name: str
    resources: tuple[Resources, ...]
    larger: Resources | None = None
    ends: bool = False
    """By itself, after a moment."""
    hurried: bool = False
    """Deleted as soon as it is made, so that it may be at any point on its way."""


_SMALL = {"requests": {"cpu": "50m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}
KINDS = (
    Kind(
        "guaranteed",
        ({"limits": {"cpu": "100m", "memory": "32Mi"}, "requests": {"cpu": "100m", "memory": "32Mi"}},),
        larger={"limits": {"cpu": "150m", "memory": "48Mi"}, "requests": {"cpu": "150m", "memory": "48Mi"}},
    ),
    Kind("burstable", (_SMALL,), larger={"requests": {"cpu": "80m", "memory": "24Mi"}, "limits": {"memory": "96Mi"}}),
    Kind("besteffort", ({},)),
    Kind("two-containers", (_SMALL, {})),
    Kind("ends", (_SMALL,), ends=True),
    Kind("hurried", (_SMALL,), hurried=True),
)


def kind(number: int) -> Kind:
    """Of the pod of that number."""
    return KINDS[number % len(KINDS)]


def name(number: int) -> str:
    return f"{kind(number).name}-{number}"


def manifest(number: int, batch: int) -> dict[str, Any]:
    """What the API server is given."""
    of = kind(number)
    command = ["sleep", "1" if of.ends else "infinity"]
    containers = [
        {
            "name": f"c{place}",
            "image": "localhost/busybox:1",
            "imagePullPolicy": "Never",
            "command": command,
            "resources": resources,
        }
        for place, resources in enumerate(of.resources)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name(number), "namespace": NAMESPACE, "labels": {LABEL: str(batch)}},
        "spec": {
            "restartPolicy": "Never" if of.ends else "Always",
            "terminationGracePeriodSeconds": 1,
            "containers": containers,
        },
    }


def resize(number: int) -> dict[str, Any]:
    """The patch that makes a pod larger."""
    return {"spec": {"containers": [{"name": "c0", "resources": kind(number).larger}]}}


def is_up(pod: Mapping[str, Any], number: int) -> bool:
    """Whether all that is wanted of a pod at first has happened: it runs, or it has ended."""
    if kind(number).ends:
        return bool(pod["status"].get("phase") == "Succeeded")
    told = pod["status"].get("containerStatuses", [])
    return len(told) == len(pod["spec"]["containers"]) and all(one["ready"] for one in told)


def is_resized(pod: Mapping[str, Any], number: int) -> bool:
    """Whether the kubelet tells that the runtime has the new resources."""
    larger = kind(number).larger
    told = pod["status"].get("containerStatuses", [])
    return larger is None or any(one["name"] == "c0" and one.get("resources") == larger for one in told)
