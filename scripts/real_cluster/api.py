"""Questions to the API server, as the administrator."""

from __future__ import annotations

import json
import ssl
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from .errors import ClusterError


class Api:
    def __init__(self, server: str, authority: Path, certificate: Path, key: Path) -> None:
        self._server = server
        self._context = ssl.create_default_context(cafile=str(authority))
        self._context.load_cert_chain(certificate, key)

    def get(self, path: str) -> str:
        """Raises OSError."""
        with urllib.request.urlopen(self._server + path, timeout=10, context=self._context) as answer:
            return str(answer.read().decode())

    def is_ready(self) -> bool:
        return self.get("/readyz") == "ok"

    def lease(self, node: str) -> datetime:
        """When a kubelet last told that it lives. Raises OSError."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}"
        return datetime.fromisoformat(json.loads(self.get(path))["spec"]["renewTime"].replace("Z", "+00:00"))

    def nodes_that_are_not_ready(self, names: list[str]) -> dict[str, str]:
        """What each node that is not ready says, by its name."""
        items = json.loads(self.get("/api/v1/nodes"))["items"]
        found: dict[str, Any] = {item["metadata"]["name"]: item for item in items}
        said = {name: _not_ready(found[name]) if name in found else "has not registered" for name in names}
        return {name: reason for name, reason in said.items() if reason}


def _not_ready(node: dict[str, Any]) -> str:
    for condition in node["status"].get("conditions", []):
        if condition["type"] == "Ready":
            return "" if condition["status"] == "True" else str(condition.get("message", condition["reason"]))
    return "has told nothing"


def until(what: str, holds: Callable[[], bool], check: Callable[[], None], patience: float) -> None:
    """Asks until it holds. `check` raises ClusterError when there is nothing to wait for. Raises ClusterError."""
    end = time.monotonic() + patience
    error = ""
    while True:
        check()
        try:
            if holds():
                return
        except OSError as failed:
            error = f" ({failed})"
        if time.monotonic() > end:
            raise ClusterError(f"{what} not after {patience:.0f} s{error}")
        time.sleep(0.2)
