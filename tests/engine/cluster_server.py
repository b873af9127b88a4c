"""An API server of a cluster: its nodes and pods in pages, single ones, and proxies to kubelets and engines."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml


class ClusterServer:
    """``kubelets``: what each kubelet's /configz answers. ``engines``: the address of each engine, by its pod's name.

    ``forbidden``: beginnings of paths that the user may not get. ``expire``: pages of lists that are too old once.
    """

    def __init__(self, directory: Path, nodes: Iterable[Any], pods: Iterable[Any]) -> None:
        self.nodes, self.pods = list(nodes), list(pods)
        self.kubelets: dict[str, Any] = {}
        self.engines: dict[str, Any] = {}
        self.forbidden: tuple[str, ...] = ()
        self.expire: set[int] = set()
        self.requests: list[str] = []
        self._directory = directory

        class Handler(_Handler):
            cluster = self

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def kubeconfig(self, namespace: str | None = None) -> Path:
        server = f"http://127.0.0.1:{self._http.server_address[1]}"
        context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
        path = self._directory / "kubeconfig"
        path.write_text(
            yaml.safe_dump(
                {
                    "clusters": [{"name": "c", "cluster": {"server": server}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                    "contexts": [{"name": "x", "context": context}],
                    "current-context": "x",
                }
            )
        )
        return path

    def answer(self, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        self.requests.append(path)
        if path.startswith(self.forbidden or ("?",)):
            return 403, _status(403, "forbidden")
        parts = path.removeprefix("/api/v1/").split("/")
        if parts[-1] == "status" and "proxy" in parts:
            return self._of_engine(parts[3].partition(":")[0], query)
        if parts[-1] == "configz":
            return (200, self.kubelets[parts[1]]) if parts[1] in self.kubelets else (404, _status(404, "not found"))
        if parts in (["nodes"], ["pods"]):
            return self._page(parts[0], query)
        found = self.nodes if parts[0] == "nodes" else self.pods
        one = next((item for item in found if item["metadata"]["name"] == parts[-1]), None)
        return (200, one) if one is not None else (404, _status(404, f'pods "{parts[-1]}" not found'))

    def _page(self, kind: str, query: Mapping[str, str]) -> tuple[int, Any]:
        items = self.nodes if kind == "nodes" else self.pods
        selector = query.get("fieldSelector", "").removeprefix("spec.nodeName=")
        label = query.get("labelSelector", "").partition("=")
        items = [
            {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
            for item in items
            if (not selector or item["spec"].get("nodeName") == selector)
            and (not label[0] or item["metadata"].get("labels", {}).get(label[0]) == label[2])
        ]
        start, limit = int(query.get("continue", "0").strip("x")), int(query["limit"])
        if start in self.expire and "x" not in query["continue"]:
            gone = _status(410, "The provided continue parameter is too old")
            return 410, {**gone, "metadata": {"continue": f"x{start}"}}
        metadata = {"resourceVersion": "7", **({"continue": str(start + limit)} if start + limit < len(items) else {})}
        name = "NodeList" if kind == "nodes" else "PodList"
        return 200, {"kind": name, "apiVersion": "v1", "metadata": metadata, "items": items[start : start + limit]}

    def _of_engine(self, name: str, query: Mapping[str, str]) -> tuple[int, Any]:
        engine = self.engines[name]
        if not isinstance(engine, str):
            return 200, engine
        try:
            with urllib.request.urlopen(f"{engine}/status?pod={query['pod']}", timeout=10) as answer:
                return 200, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()


class _Handler(BaseHTTPRequestHandler):
    cluster: ClusterServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        code, body = self.cluster.answer(url.path, query)
        raw = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _status(code: int, message: str) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "message": message, "code": code}
