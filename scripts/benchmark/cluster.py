"""Pods as ``kubectl get pods -A -o json`` and ``-o yaml`` write them: whole objects, with managedFields and status."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from typing import Any, Literal

import yaml

_CREATED = "2026-03-01T07:14:52Z"
_QOS = ("Burstable", "Guaranteed", "BestEffort")


class _Dumper(yaml.CSafeDumper):
    """Writes no aliases, like kubectl."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def cluster(pods: int, form: Literal["json", "yaml"], nodes: int = 1) -> Iterator[str]:
    """The text of a List of so many pods on so many nodes, piece by piece, always the same.

    The keys are in the order of kubectl's printers: sorted, so that ``kind`` comes after ``items``.
    """
    chance = random.Random(1)
    objects = (_pod(number, nodes, chance) for number in range(pods))
    if form == "json":
        yield '{\n    "apiVersion": "v1",\n    "items": [\n'
        for number, pod in enumerate(objects):
            text = json.dumps(pod, indent=4, sort_keys=True)
            yield ",\n" * (number > 0) + "        " + text.replace("\n", "\n        ")
        yield '\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'
        return
    yield "apiVersion: v1\nitems:\n"
    for pod in objects:
        yield yaml.dump([pod], Dumper=_Dumper, default_flow_style=False)
    yield 'kind: List\nmetadata:\n  resourceVersion: ""\n'


def _pod(number: int, nodes: int, chance: random.Random) -> dict[str, Any]:
    app, namespace = f"app-{number // 3}", f"team-{number % 20}"
    hash_ = f"{number // 3:010x}"
    qos = _QOS[number % 3]
    names = [f"c{n}" for n in range(2 if number % 4 == 0 else 1)]
    resources = [_resources(qos, chance) for _ in names]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
            "creationTimestamp": _CREATED,
            "generateName": f"{app}-{hash_}-",
            "labels": {"app": app, "pod-template-hash": hash_, "tier": "backend"},
            "managedFields": [_managed("kube-controller-manager", names), _managed_status()],
            "name": f"{app}-{hash_}-{number:05x}",
            "namespace": namespace,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": "ReplicaSet",
                    "name": f"{app}-{hash_}",
                    "uid": _uuid(chance),
                }
            ],
            "resourceVersion": str(100_000 + number),
            "uid": _uuid(chance),
        },
        "spec": {
            "containers": [
                {
                    "image": f"registry.example/team/{app}:1.{number % 50}.0",
                    "imagePullPolicy": "IfNotPresent",
                    "name": name,
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                    "resources": amounts,
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "volumeMounts": [
                        {
                            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                            "name": "kube-api-access-x7k2p",
                            "readOnly": True,
                        }
                    ],
                }
                for name, amounts in zip(names, resources, strict=True)
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "nodeName": f"node-{number % nodes}",
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "serviceAccount": "default",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}
                for key in ("node.kubernetes.io/not-ready",)
            ],
            "volumes": [{"name": "kube-api-access-x7k2p", "projected": {"defaultMode": 420, "sources": _SOURCES}}],
        },
        "status": {
            "conditions": [
                {"lastProbeTime": None, "lastTransitionTime": _CREATED, "status": "True", "type": kind}
                for kind in ("Initialized", "Ready", "PodScheduled")
            ],
            "containerStatuses": [
                {
                    "containerID": f"containerd://{chance.getrandbits(256):064x}",
                    "image": f"registry.example/team/{app}:1.{number % 50}.0",
                    "imageID": f"registry.example/team/{app}@sha256:{chance.getrandbits(256):064x}",
                    "lastState": {},
                    "name": name,
                    "ready": True,
                    "restartCount": 0,
                    "started": True,
                    "state": {"running": {"startedAt": _CREATED}},
                }
                for name in names
            ],
            "hostIP": f"10.0.0.{number % nodes % 250}",
            "phase": "Running",
            "podIP": f"10.{number // 65536 % 256}.{number // 256 % 256}.{number % 256}",
            "qosClass": qos,
            "startTime": _CREATED,
        },
    }


_SOURCES = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
    {
        "downwardAPI": {
            "items": [{"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"}]
        }
    },
]


def _resources(qos: str, chance: random.Random) -> dict[str, Any]:
    if qos == "BestEffort":
        return {}
    cpu, memory = chance.choice((50, 250, 500)), chance.choice((64, 256, 512))
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    if qos == "Guaranteed":
        return {"limits": dict(requests), "requests": requests}
    return {"limits": {"cpu": f"{cpu * 4}m", "memory": f"{memory * 2}Mi"}, "requests": requests}


def _uuid(chance: random.Random) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _managed(manager: str, containers: list[str]) -> dict[str, Any]:
    fields = ("image", "imagePullPolicy", "name", "resources")
    of_container: dict[str, Any] = {".": {}, **{f"f:{field}": {} for field in fields}}
    of_spec = ("dnsPolicy", "restartPolicy", "schedulerName", "securityContext")
    return {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {
                "f:generateName": {},
                "f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}, "f:tier": {}},
                "f:ownerReferences": {".": {}, 'k:{"uid":"d2b8d5c6-0b2f-4a1e-9e55-0d7a0f4e6f11"}': {}},
            },
            "f:spec": {
                "f:containers": {f'k:{{"name":"{name}"}}': dict(of_container) for name in containers},
                **{f"f:{field}": {} for field in of_spec},
            },
        },
        "manager": manager,
        "operation": "Update",
        "time": _CREATED,
    }


def _managed_status() -> dict[str, Any]:
    one: dict[str, Any] = {".": {}, "f:status": {}, "f:type": {}}
    kinds = ("Initialized", "Ready")
    return {
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:status": {
                "f:conditions": {f'k:{{"type":"{kind}"}}': dict(one) for kind in kinds},
                **{f"f:{field}": {} for field in ("containerStatuses", "hostIP", "phase", "podIP", "startTime")},
            }
        },
        "manager": "kubelet",
        "operation": "Update",
        "subresource": "status",
        "time": _CREATED,
    }
