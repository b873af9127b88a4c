"""/metrics, /healthz, /readyz and /status, over real sockets."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from cgroup_engine.errors import InputError, RootError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.run import server as server_module
from cgroup_engine.run.address import Address, parse_address
from cgroup_engine.run.events import Kept, Reconciled, Waiting
from cgroup_engine.run.health import Health
from cgroup_engine.run.metrics import Metrics
from cgroup_engine.run.pod_status import PodStatus
from cgroup_engine.run.server import LARGEST, Server
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.tree.layout import detect
from fakecgroup import KernelFs
from fakecgroup.kernel import Kernel

from .conftest import Clock

NO_PODS = PodStatus(lambda: KernelFs(Kernel("v2", "6.12")))


@pytest.fixture
def port(health: Health, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where a server listens, with less patience than usual."""
    monkeypatch.setattr(server_module, "PATIENCE", 0.5)
    with closing(Server(Address("127.0.0.1", 0), Metrics("1", "1.36").registry, health, NO_PODS)) as server:
        yield int(server.url.rpartition(":")[2])


def _ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()


def _raw(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(data)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


def test_metrics_are_text_for_prometheus(port: int) -> None:
    status, kind, body = _ask(port, "/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert b"# HELP cgroup_engine_drift_total " in body
    assert b"process_cpu_seconds_total" in body
    assert b"_created" not in body


def test_metrics_are_openmetrics_for_who_asks(port: int) -> None:
    _, kind, body = _ask(port, "/metrics", Accept="application/openmetrics-text;version=1.0.0")
    assert (kind or "").startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


def test_an_accept_that_is_nonsense_gets_text(port: int) -> None:
    assert _ask(port, "/metrics", Accept="application/openmetrics-text;version=x.y")[0] == 200


def test_health_follows_the_loop(port: int, health: Health, clock: Clock) -> None:
    health.hear(Waiting(60))
    assert _ask(port, "/healthz")[0] == 200
    clock.now = 1000
    status, _, body = _ask(port, "/healthz")
    assert (status, body) == (503, b"not ok: the last turn of the loop was 1000.0 s ago\n")


def test_readiness_follows_the_first_look(port: int, health: Health) -> None:
    assert _ask(port, "/readyz")[0] == 503
    health.hear(Reconciled("start", 0.1, {}))
    assert _ask(port, "/readyz?verbose")[0] == 200


def test_the_status_of_a_pod_is_told(
    health: Health, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    fs = KernelFs(Kernel("v2", "6.12"))
    node, status = make_node(), PodStatus(lambda: fs)
    status.hear(
        Reconciled("start", 0.1, {}, kept_tree=Kept(detect(fs, "/"), wanted_tree(node, [make_pod({"name": "c"})])))
    )
    with closing(Server(Address("127.0.0.1", 0), Metrics("1", "1.36").registry, health, status)) as server:
        code, kind, body = _ask(int(server.url.rpartition(":")[2]), "/status?pod=default/p1")
    told = json.loads(body)
    assert (code, kind, told["layout"], told["drift"]) == (200, "application/json", "v2", True)
    assert {file["state"] for file in told["files"]} == {"missing"}


@pytest.mark.parametrize(
    ("query", "code"), [("", 400), ("?pod=", 400), ("?pod=default/p1", 404), ("?pod=../..", 404), ("?x", 400)]
)
def test_a_pod_that_is_not_there_has_no_status(port: int, query: str, code: int) -> None:
    assert _ask(port, f"/status{query}")[0] == code


def test_a_tree_that_cannot_be_read_is_503(
    health: Health, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    def gone() -> CgroupFs:
        raise RootError("/cg: is no directory")

    status = PodStatus(gone)
    layout = detect(KernelFs(Kernel("v2", "6.12")), "/")
    status.hear(
        Reconciled("start", 0.1, {}, kept_tree=Kept(layout, wanted_tree(make_node(), [make_pod({"name": "c"})])))
    )
    with closing(Server(Address("127.0.0.1", 0), Metrics("1", "1.36").registry, health, status)) as server:
        code, _, body = _ask(int(server.url.rpartition(":")[2]), "/status?pod=default/p1")
    assert (code, body) == (503, b"/cg: is no directory\n")


def test_head_is_answered_without_a_body(port: int) -> None:
    status, kind, body = _ask(port, "/metrics", "HEAD")
    assert (status, body) == (200, b"")
    assert (kind or "").startswith("text/plain")


@pytest.mark.parametrize("path", ["/", "/metrics/x", "/../etc/passwd", "/favicon.ico"])
def test_anything_else_is_404(port: int, path: str) -> None:
    assert _ask(port, path)[0] == 404


def test_nothing_can_be_changed(port: int) -> None:
    assert _ask(port, "/metrics", "POST")[0] == 501


@pytest.mark.parametrize(
    "data",
    [b"GET /healthz", b"", b"GET /" + b"x" * LARGEST, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * LARGEST, b"\0\xff\r\n\r\n"],
)
def test_what_is_no_request_ends_soon(port: int, data: bytes) -> None:
    started = time.monotonic()
    try:
        assert b"200" not in _raw(port, data).partition(b"\r\n")[0]
    except ConnectionError:
        pass
    assert time.monotonic() - started < 3


def test_who_sends_a_byte_at_a_time_is_cut_off(port: int) -> None:
    started = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection, pytest.raises(ConnectionError):
        for byte in b"GET /healthz HTTP/1.1\r\n" + b"x" * 500:
            connection.send(bytes([byte]))
            time.sleep(0.02)
    assert time.monotonic() - started < 3


def test_slow_clients_do_not_pile_up_nor_keep_a_probe_from_its_answer(port: int) -> None:
    before = threading.active_count()
    slow = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(30)]
    try:
        time.sleep(0.2)
        assert threading.active_count() <= before + server_module.AT_A_TIME
        deadline = time.monotonic() + 10
        while True:
            try:
                assert _ask(port, "/healthz")[0] == 200
                break
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < deadline
    finally:
        for connection in slow:
            connection.close()


def test_an_address_in_use_is_one_line(port: int, health: Health) -> None:
    with pytest.raises(InputError) as caught:
        Server(Address("127.0.0.1", port), Metrics("1", "1.36").registry, health, NO_PODS)
    assert (
        str(caught.value) == f"127.0.0.1:{port}: cannot listen: address already in use; give another --listen, or none"
    )


def test_ipv6_is_served(health: Health) -> None:
    try:
        server = Server(Address("::1", 0), Metrics("1", "1.36").registry, health, NO_PODS)
    except InputError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with closing(server):
        assert server.url.startswith("http://[::1]:")
        connection = http.client.HTTPConnection("::1", int(server.url.rpartition(":")[2]), timeout=5)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9753", Address("127.0.0.1", 9753)),
        ("localhost:0", Address("127.0.0.1", 0)),
        ("[::1]:9753", Address("::1", 9753)),
        ("[10.0.0.1]:9753", Address("10.0.0.1", 9753)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("none", None),
    ],
)
def test_addresses_are_read(text: str, address: Address | None) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":9753",
        "9753",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "::1:9753",
        "[127.0.0.1:1",
        "host:1",
        "127.0.0.1:٣",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_address(text)


def test_only_loopback_is_loopback() -> None:
    assert Address("127.0.0.2", 1).loopback
    assert Address("::1", 1).loopback
    assert not Address("0.0.0.0", 1).loopback
    assert not Address("10.0.0.1", 1).loopback
