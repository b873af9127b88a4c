"""Questions to the API server, as the administrator."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.request
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from . import credentials
from .certificates import Authority
from .errors import ClusterError
from .state import State

_TIMEOUT = 30.0  # seconds for an answer


class Api:
    def __init__(self, server: str, authority: Path, certificate: Path, key: Path) -> None:
        self._server = server
        self._context = ssl.create_default_context(cafile=str(authority))
        self._context.load_cert_chain(certificate, key)

    @classmethod
    def of_administrator(cls, state: State) -> Api:
        """From the machine, with the certificates that count now."""
        authority = Authority(state.directory / "pki")
        server = json.loads(state.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        return cls(server, authority.certificate, *authority.files(credentials.ADMINISTRATOR))

    def get(self, path: str) -> str:
        """Raises OSError."""
        return self._answer(urllib.request.Request(self._server + path))

    def items(self, path: str) -> list[dict[str, Any]]:
        """Of a list. Raises OSError."""
        return list(json.loads(self.get(path))["items"])

    def send(self, method: str, path: str, content: dict[str, Any] | None = None) -> Any:
        """The object of the answer. A PATCH is a strategic merge patch. Raises OSError; HTTPError if it is refused."""
        kind = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        data = None if content is None else json.dumps(content).encode()
        headers = {"Content-Type": kind}
        return json.loads(self._answer(urllib.request.Request(self._server + path, data, headers, method=method)))

    def _answer(self, request: urllib.request.Request) -> str:
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT, context=self._context) as answer:
                return str(answer.read().decode())
        except http.client.HTTPException as error:  # it ended within its answer
            raise ConnectionError(f"half an answer: {error!r}") from None

    def is_ready(self) -> bool:
        return self.get("/readyz") == "ok"

    def lease(self, node: str) -> datetime:
        """When a kubelet last told that it lives. Raises OSError."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}"
        return datetime.fromisoformat(json.loads(self.get(path))["spec"]["renewTime"].replace("Z", "+00:00"))

    def nodes_that_are_not_ready(self, names: list[str]) -> dict[str, str]:
        """What each node that is not ready says, by its name."""
        found = {item["metadata"]["name"]: item for item in self.items("/api/v1/nodes")}
        said = {name: _not_ready(found[name]) if name in found else "has not registered" for name in names}
        return {name: reason for name, reason in said.items() if reason}


def _not_ready(node: dict[str, Any]) -> str:
    for condition in node["status"].get("conditions", []):
        if condition["type"] == "Ready":
            return "" if condition["status"] == "True" else str(condition.get("message", condition["reason"]))
    return "has told nothing"


def until(what: str, holds: Callable[[], bool], check: Callable[[], None], patience: float, pause: float = 0.2) -> None:
    """Asks until it holds, every `pause` seconds for `patience` seconds. `check` raises ClusterError when there is
    nothing to wait for. Raises ClusterError.
    """
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
        time.sleep(pause)
