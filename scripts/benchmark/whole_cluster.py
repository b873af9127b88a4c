"""A cluster of many nodes, as `kubectl get nodes,pods -A -o json` writes it. The same seed gives the same bytes.

Nodes are of pools with a size, a kubelet, a runtime and a system of their own. What pods request and limit follows
what published traces of clusters say: most pods are small, a few are large (the median of requests is a tenth of a
core, the 99th percentile some cores), many have no CPU limit, and a tenth has no requests at all.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

_CREATED = "2026-03-01T07:14:52Z"


class Pool(NamedTuple):
    """A kind of node: CPUs, GiB of memory, kubelet, runtime, system, and GiB of swap. `part` of 100 nodes are of it."""

    name: str
    part: int
    cpus: int
    memory: int
    kubelet: str
    runtime: str
    system: str
    swap: int = 0


POOLS = (
    Pool("general", 40, 16, 64, "v1.34.3", "containerd://2.1.5", "Debian GNU/Linux 13 (trixie)"),
    Pool("compute", 20, 32, 64, "v1.36.1", "containerd://2.2.1", "Ubuntu 24.04.3 LTS"),
    Pool("memory", 12, 16, 128, "v1.33.6", "cri-o://1.33.4", "Red Hat Enterprise Linux CoreOS 418.94"),
    Pool("old", 12, 8, 32, "v1.28.15", "containerd://1.7.27", "Amazon Linux 2"),
    Pool("older", 6, 8, 16, "v1.30.9", "docker://27.5.1", "Ubuntu 20.04.6 LTS"),
    Pool("edge", 6, 4, 8, "v1.31.8", "containerd://1.7.29", "Flatcar Container Linux by Kinvolk 4152.2.3"),
    Pool("swap", 4, 8, 32, "v1.35.2", "containerd://2.2.0", "Debian GNU/Linux 13 (trixie)", 8),
)


def cluster(nodes: int, pods_of_node: int, seed: int = 1, reserving: frozenset[str] = frozenset()) -> Iterator[str]:
    """The text of a List of nodes and pods, piece by piece, nodes and pods mixed.

    Nodes of the pools `reserving` have reserved 100m of CPU and 512Mi of memory.
    """
    chance = random.Random(seed)
    yield '{"apiVersion": "v1", "items": [\n'
    first = True
    for number in range(nodes):
        pool = _pool(number, nodes)
        name = f"{pool.name}-{number:05d}"
        pods = [_pod(number * pods_of_node + each, name, pool, chance) for each in range(pods_of_node)]
        for item in (*pods[: pods_of_node // 2], _node(name, pool, pool.name in reserving), *pods[pods_of_node // 2 :]):
            yield ("" if first else ",\n") + json.dumps(item, separators=(",", ":"))
            first = False
    yield '\n], "kind": "List"}\n'


def _pool(number: int, nodes: int) -> Pool:
    place, passed = number * 100 / nodes, 0
    for pool in POOLS:
        passed += pool.part
        if place < passed:
            return pool
    return POOLS[-1]


def _node(name: str, pool: Pool, reserves: bool) -> dict[str, Any]:
    capacity = {"cpu": str(pool.cpus), "memory": f"{pool.memory * 1024 * 1024 - 262144}Ki", "pods": "110"}
    capacity |= {"hugepages-1Gi": "0", "hugepages-2Mi": "0", "ephemeral-storage": "101430960Ki"}
    memory = pool.memory * 1024 * 1024 - 262144 - 102400 - (524288 if reserves else 0)
    cpu = f"{pool.cpus * 1000 - 100}m" if reserves else str(pool.cpus)
    info = {
        "architecture": "amd64",
        "containerRuntimeVersion": pool.runtime,
        "kernelVersion": "6.12.57",
        "kubeletVersion": pool.kubelet,
        "operatingSystem": "linux",
        "osImage": pool.system,
    }
    swap = {"swap": {"capacity": pool.swap << 30}} if pool.swap else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "node-pool": pool.name},
            "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        },
        "spec": {},
        "status": {
            "capacity": capacity,
            "allocatable": {**capacity, "cpu": cpu, "memory": f"{memory}Ki"},
            "nodeInfo": {**info, **swap},
        },
    }


def _pod(number: int, node: str, pool: Pool, chance: random.Random) -> dict[str, Any]:
    app, namespace = f"app-{chance.randrange(1 + number // 4)}", f"team-{number % 40}"
    names = ["main"] + ["sidecar"] * (chance.random() < 0.25)
    hash_ = f"{chance.getrandbits(36):010x}"[:10]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{app}-{hash_}-{number:x}",
            "namespace": namespace,
            "uid": str(uuid.UUID(int=chance.getrandbits(128))),
            "creationTimestamp": _CREATED,
            "resourceVersion": str(1000 + number),
            "labels": {"app": app, "pod-template-hash": hash_},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-{hash_}", "controller": True}
            ],
        },
        "spec": {
            "nodeName": node,
            "restartPolicy": "Always",
            "containers": [
                {"name": name, "image": f"registry.example/{app}:1", "resources": _resources(pool, chance)}
                for name in names
            ],
        },
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {
                    "name": name,
                    "containerID": f"containerd://{chance.getrandbits(256):064x}",
                    "image": f"registry.example/{app}:1",
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": _CREATED}},
                }
                for name in names
            ],
        },
    }


def _resources(pool: Pool, chance: random.Random) -> dict[str, Any]:
    """Requests and limits: log-normal, as in traces; scaled so that thirty pods fit on a node of the pool."""
    if chance.random() < 0.1:
        return {}
    scale = pool.cpus / 32
    cpu = max(1, int(min(4000.0, 100 * chance.lognormvariate(0, 1.1)) * scale))
    memory = max(16, int(min(8192.0, 256 * chance.lognormvariate(0, 1.0)) * pool.memory / 128))
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    kind = chance.random()
    if kind < 0.15:  # Guaranteed
        return {"requests": requests, "limits": dict(requests)}
    limits = {"memory": f"{int(memory * chance.choice((1, 1.5, 2, 4)))}Mi"}
    if kind < 0.5:
        limits["cpu"] = f"{cpu * chance.choice((2, 4, 10))}m"
    return {"requests": requests, "limits": limits}
