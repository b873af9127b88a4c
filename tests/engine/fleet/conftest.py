"""Clusters for the tests: objects as kubectl writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def node_object(name: str = "n1", **changes: Any) -> dict[str, Any]:
    """A Node with 4 CPUs and 8 GiB. `info` and `capacity` are added to its own."""
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110", **changes.get("capacity", {})}
    info = {
        "kubeletVersion": "v1.34.1",
        "containerRuntimeVersion": "containerd://2.1.4",
        "osImage": "Debian GNU/Linux 13 (trixie)",
        **changes.get("info", {}),
    }
    allocatable = {**capacity, "memory": "8092Mi", **changes.get("allocatable", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": changes.get("labels", {})},
        "status": {"capacity": capacity, "allocatable": allocatable, "nodeInfo": info},
    }


def pod_object(number: int, node: str = "n1", name: str = "", **amounts: dict[str, str]) -> dict[str, Any]:
    """A pod with one container; `requests` and `limits` are its resources."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name or f"p{number}",
            "namespace": "default",
            "uid": f"0aa1a5e2-0b3f-4d0e-8f31-{number:012}",
            "resourceVersion": "1",
        },
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x", "resources": amounts}]},
        "status": {"phase": "Running"},
    }


@pytest.fixture
def dump_of(tmp_path: Path) -> Callable[..., Path]:
    """Writes a List of objects; returns its file."""

    def write(*items: Any, name: str = "dump.json") -> Path:
        (tmp_path / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))
        return tmp_path / name

    return write
