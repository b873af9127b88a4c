"""Metrics, health and the status of a pod over HTTP: /metrics, /healthz, /readyz, /status, and nothing else.

Bounds protect it from strangers: a request must be small and complete within seconds, only a few are answered at a
time, and each connection carries one request.
"""

from __future__ import annotations

import io
import json
import socket
import socketserver
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from cgroup_engine.errors import EngineError, InputError
from cgroup_engine.run.address import Address
from cgroup_engine.run.health import Answer, Health
from cgroup_engine.run.pod_status import PodStatus

#: Most bytes of a request with its headers; seconds to receive a request or send an answer; requests at a time.
LARGEST, PATIENCE, AT_A_TIME = 8192, 5.0, 8
_TEXT = "text/plain; charset=utf-8"


class Server:
    """Answers at ``url``, in threads of its own, until ``close``.

    :raises InputError: it cannot listen there.
    """

    def __init__(self, address: Address, registry: CollectorRegistry, health: Health, pods: PodStatus) -> None:
        try:
            self._server = _Listener(address, {"/healthz": health.alive, "/readyz": health.ready}, registry, pods)
        except OSError as failed:
            raise InputError(
                f"{address}: cannot listen: {(failed.strerror or str(failed)).lower()}",
                value=str(address),
                errno=failed.errno,
                todo="give another --listen, or none",
            ) from None
        self.url = f"http://{Address(address.host, self._server.server_address[1])}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), name="http", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """No more requests are taken; those under way end with the process at the latest."""
        self._server.shutdown()
        self._server.server_close()


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 32

    def __init__(
        self, address: Address, checks: dict[str, Callable[[], Answer]], registry: CollectorRegistry, pods: PodStatus
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.checks, self.registry, self.pods = checks, registry, pods
        self._free = BoundedSemaphore(AT_A_TIME)
        super().__init__((address.host, address.port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(timeout=0.5):
            try:
                super().process_request(request, client_address)
            except RuntimeError:  # no thread can be started
                self._free.release()
                self.shutdown_request(request)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a client that went away; it sees its failed scrape itself."""


class _Handler(BaseHTTPRequestHandler):
    """One request. The base class waits for lines without a time limit, so the head is read first, with one."""

    server: _Listener
    server_version, sys_version = "cgroup-engine", ""
    connection: socket.socket

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(io.BytesIO(self._head()))
        self.connection.settimeout(PATIENCE)

    def _head(self) -> bytes:
        head, deadline = b"", time.monotonic() + PATIENCE
        while b"\r\n\r\n" not in head and b"\n\n" not in head and len(head) <= LARGEST:
            self.connection.settimeout(max(deadline - time.monotonic(), 0.001))
            part = self.connection.recv(LARGEST)
            if not part:
                break
            head += part
        return head if len(head) <= LARGEST else b""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/metrics":
            self._answer(HTTPStatus.OK, *self._metrics())
        elif path in self.server.checks:
            answer = self.server.checks[path]()
            status = HTTPStatus.OK if answer.ok else HTTPStatus.SERVICE_UNAVAILABLE
            self._answer(status, _TEXT, f"{'ok' if answer.ok else 'not ok'}: {answer.why}\n".encode())
        elif path == "/status":
            self._answer(*self._status(query))
        else:
            self._answer(HTTPStatus.NOT_FOUND, _TEXT, b"there are /metrics, /healthz, /readyz and /status\n")

    do_HEAD = do_GET  # noqa: N815

    def _metrics(self) -> tuple[str, bytes]:
        try:
            encode, kind = choose_encoder(self.headers.get("Accept", ""))
            return kind, encode(self.server.registry)
        except (TypeError, ValueError):  # a version in Accept that is none
            encode, kind = choose_encoder("")
            return kind, encode(self.server.registry)

    def _status(self, query: str) -> tuple[HTTPStatus, str, bytes]:
        pod = parse_qs(query).get("pod", [""])[0]
        if not pod:
            return HTTPStatus.BAD_REQUEST, _TEXT, b"ask /status?pod=NAMESPACE/NAME\n"
        try:
            data = self.server.pods.of(pod)
        except EngineError as failed:
            return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, f"{failed}\n".encode()
        if data is None:
            return HTTPStatus.NOT_FOUND, _TEXT, b"there is no such pod on this node\n"
        return HTTPStatus.OK, "application/json", json.dumps(data).encode()

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: probes come every few seconds."""
