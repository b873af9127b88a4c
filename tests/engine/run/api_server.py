"""An API server of pods with list and watch, which can be told to misbehave.

It keeps pods with resourceVersions and a log of events, pages its lists, streams its watches in chunks, and refuses
what its RBAC would refuse: everything but GET of pods in all namespaces with the field selector of one node.
"""

from __future__ import annotations

import copy
import json
import ssl
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

NODE = "node-1"
TOKEN = "secret-token"

Answer = Callable[["Request"], None]


class ApiServer:
    """``lists`` and ``watches``: how the next ones are answered, one each, before it is itself again.

    ``requests``: the queries that came. ``certificate``: with its key, from the next start on. ``end``: ends every open
    watch by closing it properly.
    """

    def __init__(self, directory: Path, *, certificate: tuple[Path, Path] | None = None) -> None:
        self.lists: list[Answer] = []
        self.watches: list[Answer] = []
        self.requests: list[dict[str, str]] = []
        self.paths: set[str] = set()
        self.changed = threading.Condition()
        self.closing = False
        self._generation = 0
        self._version = 100
        self._compacted = 0
        self._pods: dict[str, dict[str, Any]] = {}
        self._log: list[tuple[int, str, dict[str, Any]]] = []
        self._directory, self.certificate = directory, certificate
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self.start()

    def start(self) -> None:
        api = self

        class Handler(Request):
            server_of = api

        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        if self.certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.closing = False
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Dies: no connection is accepted, open watches are cut off. ``start`` brings it back with what it knew."""
        assert self._server is not None
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self._port}"

    def kubeconfig(self, token: str = TOKEN, **cluster: Any) -> Path:
        path = self._directory / "kubeconfig"
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "c", "cluster": {"server": self.host, **cluster}}],
                    "users": [{"name": "u", "user": {"token": token}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )
        return path

    def put(self, pod: dict[str, Any], name: str | None = None) -> None:
        """Adds or changes a pod; ``name`` is what the server knows it by, if the pod itself does not tell."""
        name = name or pod["metadata"]["name"]
        self._record("MODIFIED" if name in self._pods else "ADDED", name, pod)

    def delete(self, name: str) -> None:
        self._record("DELETED", name, self._pods[name])

    def bookmark(self) -> None:
        self._record("BOOKMARK", "", {"kind": "Pod", "apiVersion": "v1", "metadata": {}})

    def send(self, event: Any) -> None:
        """Has every watch send something that is no event of a pod."""
        with self.changed:
            self._version += 1
            self._log.append((self._version, "", event))
            self.changed.notify_all()

    def forget(self) -> None:
        """Forgets all events up to now: an older watch gets 410."""
        with self.changed:
            self._log.clear()
            self._version += 1
            self._compacted = self._version

    def end(self) -> None:
        with self.changed:
            self._generation += 1
            self.changed.notify_all()

    def _record(self, kind: str, name: str, pod: dict[str, Any]) -> None:
        with self.changed:
            self._version += 1
            pod = copy.deepcopy(pod)
            if isinstance(pod, dict) and isinstance(pod.get("metadata"), dict):
                pod["metadata"]["resourceVersion"] = str(self._version)
            if kind == "DELETED":
                del self._pods[name]
            elif kind != "BOOKMARK":
                self._pods[name] = pod
            self._log.append((self._version, kind, pod))
            self.changed.notify_all()

    def page(self, query: dict[str, str]) -> dict[str, Any]:
        with self.changed:
            names = sorted(self._pods)
            start = int(query.get("continue", "0"))
            stop = start + int(query.get("limit", len(names) or 1))
            metadata = {"resourceVersion": str(self._version)}
            if stop < len(names):
                metadata["continue"] = str(stop)
            items = [self._pods[name] for name in names[start:stop]]
            return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}

    def gone(self, since: int) -> bool:
        return since < self._compacted

    def follow(self, since: int, send: Callable[[Any], None]) -> None:
        """Sends every event after ``since``, until the watch is ended or the server dies."""
        generation = self._generation
        while True:
            with self.changed:
                while not self.closing and self._generation == generation and self._version == since:
                    self.changed.wait(30)
                if self.closing:
                    raise ConnectionAbortedError
                if self._generation != generation:
                    return
                events = [(kind, pod) for version, kind, pod in self._log if version > since]
                since = self._version
            for kind, pod in events:
                send({"type": kind, "object": pod} if kind else pod)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):  # the tests break connections
            super().handle_error(request, client_address)


class Request(BaseHTTPRequestHandler):
    """One request, and the calls with which an ``Answer`` replies."""

    server_of: ApiServer
    protocol_version = "HTTP/1.1"
    query: dict[str, str]

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.query = {key: values[0] for key, values in parse_qs(url.query).items()}
        watch = self.query.get("watch") in ("true", "True", "1")
        self.server_of.paths.add(f"{self.command} {url.path}")
        self.server_of.requests.append(self.query)
        special = self.server_of.watches if watch else self.server_of.lists
        try:
            if self.server_of.closing:
                raise ConnectionAbortedError
            if special:
                special.pop(0)(self)
            elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.refuse(401, "Unauthorized")
            elif url.path != "/api/v1/pods" or self.query.get("fieldSelector") != f"spec.nodeName={NODE}":
                self.refuse(403, "pods is forbidden")
            elif watch:
                self.watch()
            else:
                self.answer(200, self.server_of.page(self.query))
        except (ConnectionError, ssl.SSLError):
            self.close_connection = True

    def answer(self, code: int, body: Any, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def refuse(self, code: int, message: str, **headers: str) -> None:
        self.answer(code, {"kind": "Status", "status": "Failure", "message": message, "code": code}, **headers)

    def watch(self) -> None:
        since = int(self.query["resourceVersion"])
        self.begin_chunks()
        if self.server_of.gone(since):
            message = "too old resource version"
            self.chunk({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": message}})
        else:
            self.server_of.follow(since, self.chunk)
        self.end_chunks()

    def begin_chunks(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, event: Any) -> None:
        raw = event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))

    def end_chunks(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def hang(self) -> None:
        """Says nothing more until the server ends."""
        with self.server_of.changed:
            self.server_of.changed.wait_for(lambda: self.server_of.closing, 60)
        raise ConnectionAbortedError

    def log_message(self, format: str, *args: Any) -> None:
        pass
