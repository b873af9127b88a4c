"""A whole cluster, asked of an API server: its nodes and pods page by page, and single ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cgroup_engine.errors import ApiServerError, InputError, quoted
from cgroup_engine.sources.api_connection import ApiConnection, ApiTimeouts

_PAGE = 500  # objects, as kubectl asks for
_MAX_PAGES = 100_000
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_ENGINE = "app.kubernetes.io/name=cgroup-engine"  # the label in deploy/kubernetes
_ENGINE_PORT = 9753
_LISTENS = "metrics"  # the name of its port


class ClusterApi:
    """Nodes and pods of a cluster, as plain data.

    Every method raises ApiServerError, as those of ``ApiConnection``.
    """

    def __init__(
        self, kubeconfig: Path | None, context: str | None = None, timeouts: ApiTimeouts | None = None
    ) -> None:
        may = "get and list nodes and pods, in all namespaces"
        self._api = ApiConnection(kubeconfig, timeouts or ApiTimeouts(), may, context)

    @property
    def host(self) -> str:
        """The server's address."""
        return self._api.host

    def nodes(self) -> Iterator[Any]:
        """All nodes."""
        return self._all("/api/v1/nodes", "Node")

    def pods(self) -> Iterator[Any]:
        """The pods of all namespaces."""
        return self._all("/api/v1/pods", "Pod")

    def pods_of(self, node: str) -> Iterator[Any]:
        """The pods that are bound to a node."""
        return self._all("/api/v1/pods", "Pod", fieldSelector=f"spec.nodeName={_checked(node)}")

    def node(self, name: str) -> Any:
        """One node."""
        return self._api.object(f"/api/v1/nodes/{_checked(name)}")

    def pod(self, namespace: str, name: str) -> Any:
        """One pod."""
        return self._api.object(f"/api/v1/namespaces/{_checked(namespace)}/pods/{_checked(name)}")

    def kubelet_configuration(self, node: str) -> Mapping[str, Any]:
        """What the kubelet of a node answers to ``/configz``, through the API server; it takes ``nodes/proxy``."""
        answer = self._api.object(f"/api/v1/nodes/{_checked(node)}/proxy/configz")
        fields = answer.get("kubeletconfig") if isinstance(answer, dict) else None
        if not isinstance(fields, dict):
            raise self._api.error(f"the kubelet of node {node} does not tell its configuration")
        return fields

    def status_of(self, pod: str, node: str) -> Any:
        """What the engine on a node answers to ``/status`` about a pod, NAMESPACE/NAME; None without an engine there.

        The API server passes the question on to the engine's pod; it takes ``pods/proxy``.
        """
        engines = self._all(
            "/api/v1/pods", "Pod", fieldSelector=f"spec.nodeName={_checked(node)}", labelSelector=_ENGINE
        )
        engine = next((item for item in engines if _runs(item)), None)
        if engine is None:
            return None
        metadata = engine["metadata"]
        where = f"{_checked(metadata.get('name'))}:{_port(engine)}"
        path = f"/api/v1/namespaces/{_checked(metadata.get('namespace'))}/pods/{where}/proxy/status"
        return self._api.object(path, pod=pod)

    def _all(self, path: str, kind: str, **query: str) -> Iterator[Any]:
        """All objects of a list. One that has become too old between two pages goes on with what is there now."""
        token: str | None = ""
        for _ in range(_MAX_PAGES):
            given = {**query, "limit": _PAGE, **({"continue": token} if token else {})}
            try:
                page = self._api.page(path, f"{kind}List", **given)
            except ApiServerError as failed:
                if failed.errno != 410 or not failed.token or failed.token == token:
                    raise
                token = failed.token
                continue
            for item in page.items:
                yield {**item, "kind": kind, "apiVersion": "v1"} if isinstance(item, dict) else item
            token = page.token
            if token is None:
                return
        raise self._api.error(f"its list does not end after {_MAX_PAGES} pages")


def _checked(name: object) -> str:
    """A name that can be a part of a path.

    :raises InputError: it is none.
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise InputError(f"{quoted(name)} is not a name: use a-z, 0-9, - and .", value=str(name))


def _runs(pod: Any) -> bool:
    status = pod.get("status") if isinstance(pod, dict) else None
    return isinstance(status, dict) and status.get("phase") == "Running" and isinstance(pod.get("metadata"), dict)


def _port(pod: Mapping[str, Any]) -> int:
    """The port on which an engine answers."""
    spec = pod.get("spec")
    for container in (spec.get("containers") if isinstance(spec, dict) else None) or ():
        for port in (container.get("ports") if isinstance(container, dict) else None) or ():
            if isinstance(port, dict) and port.get("name") == _LISTENS and isinstance(port.get("containerPort"), int):
                return int(port["containerPort"])
    return _ENGINE_PORT
