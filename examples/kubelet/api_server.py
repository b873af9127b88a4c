"""Stands in for the API server of one kubelet: keeps objects in memory, tells watchers of them, knows no users.

api_server.py PORT POD.json...: each pod is on the node of its spec.nodeName. A kubelet speaks to it with `contentType:
application/json`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

KINDS = {
    "pods": "Pod",
    "nodes": "Node",
    "services": "Service",
    "events": "Event",
    "leases": "Lease",
    "runtimeclasses": "RuntimeClass",
    "csidrivers": "CSIDriver",
    "csinodes": "CSINode",
}
MERGED_BY_TYPE = ("conditions", "addresses")  # lists of a status

objects: dict[tuple[str, str, str], Any] = {}  # by resource, namespace, name
changes: list[tuple[int, str, str, Any]] = []  # version, resource, ADDED or MODIFIED or DELETED, object
versions = count(1)
changed = threading.Condition()  # is held by whoever reads or writes these


def keep(resource: str, namespace: str, item: Any, change: str) -> Any:
    """Stores a new version of an object, or removes it. Returns it."""
    version = next(versions)
    metadata = item["metadata"]
    metadata.setdefault("name", f"{metadata.get('generateName', '')}{version}")
    metadata.setdefault("uid", f"00000000-0000-0000-0000-{version:012}")
    metadata.setdefault("creationTimestamp", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    metadata["resourceVersion"] = str(version)
    key = resource, namespace, metadata["name"]
    if change == "DELETED":
        objects.pop(key, None)
    else:
        objects[key] = item
    changes.append((version, resource, change, item))
    changed.notify_all()
    return item


def merged(old: Any, patch: Any, key: str = "") -> Any:
    """What a strategic merge patch makes of a value, as far as kubelets send one."""
    if isinstance(patch, dict):
        result = dict(old) if isinstance(old, dict) else {}
        for name, value in patch.items():
            if value is None:
                result.pop(name, None)
            elif not name.startswith("$"):  # a directive
                result[name] = merged(result.get(name), value, name)
        return result
    if isinstance(patch, list) and key in MERGED_BY_TYPE:
        by_type = {item["type"]: item for item in old or []}
        for item in patch:
            by_type[item["type"]] = merged(by_type.get(item["type"]), item)
        return list(by_type.values())
    return patch


class Handler(BaseHTTPRequestHandler):
    """Answers one connection. Paths: /api/v1 or /apis/GROUP/VERSION, [namespaces/NAME], RESOURCE, [NAME], [status]."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing is logged."""

    def read(self) -> None:
        """Reads the request."""
        url = urlsplit(self.path)
        self.query = parse_qs(url.query)
        parts = url.path.strip("/").split("/")
        self.version, rest = ("v1", parts[2:]) if parts[0] == "api" else ("/".join(parts[1:3]), parts[3:])
        self.namespace = rest[1] if rest[:1] == ["namespaces"] and len(rest) > 2 else ""
        self.resource, self.name = [*(rest[2:] if self.namespace else rest), "", ""][:2]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.body = json.loads(body) if body.startswith(b"{") else {}

    def answer(self, item: Any, status: int = 200) -> None:
        """Sends an object, or that there is none."""
        if item is None:
            status = 404
            item = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": status}
        data = json.dumps(item).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def change(self, made: Callable[[Any], Any], change: str = "MODIFIED") -> None:
        """Puts what is made of an object in its place, and sends it."""
        self.read()
        with changed:
            old = objects.get((self.resource, self.namespace, self.name))
            item = old and keep(self.resource, self.namespace, made(old), change)
        self.answer(item)

    def do_GET(self) -> None:
        self.read()
        if self.name or self.resource not in KINDS:
            with changed:
                item = objects.get((self.resource, self.namespace, self.name))
            self.answer(item)
        elif "sendInitialEvents" in self.query:
            self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 400}, 400)  # it lists then
        elif "watch" in self.query:
            self.watch(int(self.query.get("resourceVersion", ["0"])[0] or 0))
        else:
            with changed:
                items = [item for (resource, *_), item in objects.items() if resource == self.resource]
                version = str(changes[-1][0] if changes else 0)
            kind = f"{KINDS[self.resource]}List"
            metadata = {"resourceVersion": version}
            self.answer({"kind": kind, "apiVersion": self.version, "metadata": metadata, "items": items})

    def watch(self, since: int) -> None:
        """Sends what changes, until the other side is gone."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            with changed:
                while not changes or changes[-1][0] <= since:
                    changed.wait()
                new = [one for one in changes if one[0] > since]
            since = new[-1][0]
            for _, resource, change, item in new:
                if resource == self.resource:
                    line = json.dumps({"type": change, "object": item}).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def do_POST(self) -> None:
        self.read()
        item = None
        if self.resource in KINDS and not self.name:
            with changed:
                item = keep(self.resource, self.namespace, self.body, "ADDED")
        self.answer(item, 201)

    def do_PUT(self) -> None:
        self.change(lambda old: self.body)

    def do_PATCH(self) -> None:
        self.change(lambda old: merged(old, self.body))

    def do_DELETE(self) -> None:
        self.change(lambda old: old, "DELETED")


def with_defaults(pod: Any) -> Any:
    """A pod with what an API server fills in, as far as a kubelet needs it."""
    containers = [{"imagePullPolicy": "IfNotPresent"} | one for one in pod["spec"]["containers"]]
    spec = {"dnsPolicy": "Default", "restartPolicy": "Always", "securityContext": {}} | pod["spec"]
    metadata = {"namespace": "default"} | pod["metadata"]
    return pod | {"metadata": metadata, "spec": spec | {"containers": containers}, "status": {}}


def main(port: str, *pods: str) -> None:
    """Serves until it is killed."""
    for file in pods:
        with open(file) as opened, changed:
            pod = with_defaults(json.load(opened))
            keep("pods", pod["metadata"]["namespace"], pod, "ADDED")
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
