"""Pods from an API server that works, hangs, dies and lies."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cgroup_engine.errors import ApiServerError, PodError
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.sources import api_connection, pod_api
from cgroup_engine.sources.api_connection import ApiTimeouts
from cgroup_engine.sources.apiserver import apiserver_pods, apiserver_source

from .api_server import NODE, ApiServer, Request
from .watching import Watching

SOON = ApiTimeouts(connect=2, answer=5, silent=30, first=0.02, most=0.2, settled=1)
NEW = KubeletVersion()

Follow = Callable[..., Watching]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    server = ApiServer(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def follow(server: ApiServer) -> Iterator[Follow]:
    opened = []

    def start(timeouts: ApiTimeouts = SOON, kubeconfig: Path | None = None) -> Watching:
        source = apiserver_source(kubeconfig or server.kubeconfig(), NODE, NEW, timeouts)
        opened.append(source)
        return Watching(source)

    yield start
    for source in opened:
        source.close()


@pytest.fixture
def pod(make_object: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A pod as the API server has it: bound to the node."""

    def make(n: int, node: str = NODE, **metadata: str | dict[str, str]) -> dict[str, Any]:
        item = make_object(n=n, nodeName=node)
        item["metadata"] |= metadata
        return item

    return make


def versions(server: ApiServer) -> list[str]:
    """The resourceVersion of each watch that was asked for."""
    return [query["resourceVersion"] for query in server.requests if "watch" in query]


def lists(server: ApiServer) -> int:
    return sum("watch" not in query for query in server.requests)


def test_pods_are_listed_then_watched(server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]) -> None:
    server.put(pod(1))
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    server.put(pod(2))
    watching.until(lambda: watching.names == ["p1", "p2"])
    server.delete("p1")
    watching.until(lambda: watching.names == ["p2"])
    assert (watching.complaints, watching.seen.complete) == ([], True)
    assert lists(server) == 1


def test_a_pod_that_changes_is_seen_with_what_it_is_now(
    server: ApiServer,
    follow: Follow,
    pod: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
) -> None:
    server.put(pod(1))
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    changed = pod(1)
    changed["status"] = {"phase": "Succeeded"}
    server.put(changed)
    watching.until(lambda: watching.pods[0].ended)


def test_there_are_no_pods_rather_than_unknown_ones_once_they_were_listed(server: ApiServer, follow: Follow) -> None:
    watching = follow()
    watching.until(lambda: watching.names == [])
    assert watching.seen.complete


def test_until_the_first_list_nothing_is_known(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.lists = [Request.hang]
    server.put(pod(1))
    watching = follow()
    assert (watching.names, watching.seen.complete) == (None, False)


def test_nothing_but_list_and_watch_of_the_nodes_pods_is_asked_for(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    watching = follow()
    watching.until(lambda: watching.names == [])
    server.put(pod(1))
    watching.until(lambda: watching.names == ["p1"])
    assert server.paths == {"GET /api/v1/pods"}
    assert {query["fieldSelector"] for query in server.requests} == {f"spec.nodeName={NODE}"}
    assert server.requests[1]["allowWatchBookmarks"] == "true"


def test_a_long_list_comes_in_pages(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_api, "_PAGE", 2)
    for n in range(1, 6):
        server.put(pod(n))
    watching = follow()
    watching.until(lambda: watching.names is not None)
    assert watching.names == ["p1", "p2", "p3", "p4", "p5"]
    assert [query.get("continue") for query in server.requests[:3]] == [None, "2", "4"]


def test_a_list_that_becomes_too_old_between_two_pages_is_asked_for_in_one(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_api, "_PAGE", 2)
    for n in range(1, 6):
        server.put(pod(n))
    first = lambda request: request.answer(200, request.server_of.page(request.query))  # noqa: E731
    server.lists = [first, lambda request: request.refuse(410, "The provided continue parameter is too old")]
    watching = follow()
    watching.until(lambda: watching.names is not None)
    assert len(watching.pods) == 5
    assert "limit" not in server.requests[2]
    assert watching.complaints == []


def test_a_list_without_end_is_given_up(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_api, "_MAX_PAGES", 3)
    endless = {"kind": "PodList", "metadata": {"resourceVersion": "1", "continue": "again"}, "items": []}
    server.lists = [lambda request: request.answer(200, endless)] * 3
    watching = follow()
    watching.until_complaint("its list does not end after 3 pages")


def test_a_watch_that_ends_is_resumed_where_it_was(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    watching = follow()
    watching.until(lambda: watching.names == [])
    server.put(pod(1))
    watching.until(lambda: watching.names == ["p1"])
    server.end()
    server.put(pod(2))
    watching.until(lambda: watching.names == ["p1", "p2"])
    assert lists(server) == 1
    assert versions(server) == ["100", "101"]
    assert watching.complaints == []


def test_a_bookmark_moves_the_version_that_a_watch_is_resumed_from(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    watching = follow()
    watching.until(lambda: watching.names == [])
    server.bookmark()
    server.put(pod(1))
    server.bookmark()
    watching.until(lambda: watching.names == ["p1"])
    server.end()
    watching.until(lambda: len(versions(server)) == 2)
    assert versions(server)[1] in ("102", "103")
    assert lists(server) == 1


def test_a_server_that_dies_leaves_the_pods_in_force_and_is_followed_when_it_is_back(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.put(pod(1))
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    server.stop()
    watching.until_complaint("does not answer: Connection refused")
    assert watching.names == ["p1"]
    server.put(pod(2))
    server.start()
    watching.until(lambda: watching.names == ["p1", "p2"])
    assert lists(server) == 1  # the watch was resumed
    server.stop()
    watching.until(lambda: sum("refused" in text for text in watching.complaints) == 2)  # told again
    server.start()


@pytest.mark.parametrize("how", ["as an event", "as the status"])
def test_a_version_that_is_too_old_has_everything_listed_again(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], how: str
) -> None:
    server.put(pod(1))
    server.put(pod(2))
    watching = follow()
    watching.until(lambda: watching.names == ["p1", "p2"])
    if how == "as the status":
        server.watches = [lambda request: request.refuse(410, "Expired")]
    server.stop()
    watching.until_complaint("refused")
    server.delete("p1")
    server.forget()
    server.start()
    watching.until(lambda: watching.names == ["p2"])
    assert lists(server) == 2
    assert not any("410" in text or "old" in text for text in watching.complaints)


def test_a_server_that_always_says_410_is_not_asked_in_a_hot_loop(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.watches = [lambda request: request.refuse(410, "Expired")] * 1000
    watching = follow(ApiTimeouts(first=0.2, most=0.4))
    end = time.monotonic() + 1.0
    watching.until(lambda: time.monotonic() > end)
    assert 1 <= len(versions(server)) <= 8
    assert watching.names == []


def test_a_server_that_ends_every_watch_at_once_is_asked_less_and_less(server: ApiServer, follow: Follow) -> None:
    times: list[float] = []

    def end_at_once(request: Request) -> None:
        times.append(time.monotonic())
        request.begin_chunks()
        request.end_chunks()

    server.watches = [end_at_once] * 5
    watching = follow(ApiTimeouts(first=0.05, most=30))
    watching.until(lambda: len(times) == 5)
    waits = [after - before for before, after in pairwise(times)]
    assert all(wait >= 0.025 * 2**n for n, wait in enumerate(waits))


def test_a_watch_that_is_silent_for_too_long_is_asked_again_and_everything_listed(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:

    def begin_and_hang(request: Request) -> None:
        request.begin_chunks()
        request.hang()

    server.watches = [begin_and_hang]
    watching = follow(ApiTimeouts(silent=0.3, first=0.02, most=0.1))
    watching.until(lambda: watching.names == [])
    server.put(pod(1))
    watching.until(lambda: watching.names == ["p1"])
    assert watching.complaints == []
    assert lists(server) == 2


def test_a_server_that_accepts_and_says_nothing_is_complained_about(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.lists = [Request.hang]
    server.put(pod(1))
    watching = follow(ApiTimeouts(answer=0.3, first=0.02, most=0.1))
    watching.until_complaint("does not answer: timed out")
    watching.until(lambda: watching.names == ["p1"])


def test_an_answer_that_drips_is_given_up(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    def drip(request: Request) -> None:
        request.begin_chunks()
        while not request.server_of.closing:
            request.chunk(b" ")
            time.sleep(0.05)

    server.lists = [drip]
    server.put(pod(1))
    watching = follow(ApiTimeouts(answer=0.3, first=0.02, most=0.1))
    watching.until_complaint("its answer is not over after 0.3 s")
    watching.until(lambda: watching.names == ["p1"])


def broken_off(request: Request) -> None:
    request.begin_chunks()
    request.chunk(b'{"type": "ADDED", "obj')
    request.wfile.write(b"400\r\nhalf of a ch")
    raise ConnectionAbortedError


def ended_in_an_event(request: Request) -> None:
    request.begin_chunks()
    request.chunk(b'{"type": "ADDED", "obj')
    request.end_chunks()


def no_chunk(request: Request) -> None:
    request.begin_chunks()
    request.wfile.write(b"this is no length\r\n")
    raise ConnectionAbortedError


@pytest.mark.parametrize("answer", [broken_off, ended_in_an_event, no_chunk])
def test_a_watch_that_breaks_off_is_resumed_where_it_was(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], answer: Callable[..., Any]
) -> None:
    server.watches = [answer]
    watching = follow()
    watching.until(lambda: watching.names == [])
    server.put(pod(1))
    watching.until(lambda: watching.names == ["p1"])
    assert "\n" not in watching.until_complaint("broke off")
    assert versions(server)[:2] == ["100", "100"]
    assert lists(server) == 1


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (b"not json\n", "is not JSON"),
        (b"\xff\xfe\n", "is not JSON"),
        (b"[" * 100_000 + b"\n", "is not JSON"),
        ([1, 2], "its watch sent no event"),
        ({"type": "SURPRISE", "object": {}}, 'an event of the type "SURPRISE"'),
        ({"type": ["ADDED"], "object": {}}, "an event of the type a list"),
        ({"type": "ADDED"}, "a ADDED without metadata.resourceVersion"),
        ({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": 7}}}, "without metadata.resourceVersion"),
        ({"type": "ERROR", "object": {"code": 500, "message": "etcd is gone"}}, 'its watch ended: "etcd is gone"'),
        ({"type": "ERROR", "object": None}, "its watch ended"),
    ],
)
def test_an_event_that_is_none_is_complained_about_and_everything_listed_again(
    server: ApiServer,
    follow: Follow,
    pod: Callable[..., dict[str, Any]],
    event: dict[str, Any] | bytes | list[int],
    message: str,
) -> None:
    server.put(pod(1))
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    server.send(event)
    assert "\n" not in watching.until_complaint(message)
    server.put(pod(2))
    watching.until(lambda: watching.names == ["p1", "p2"])
    assert lists(server) >= 2


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "its answer is not JSON"),
        (b"", "its answer is not JSON"),
        (b"[]", "its answer is no PodList"),
        (b"[" * 100_000, "its answer is not JSON"),
        (b"[" + b"[]," * 1_000_001 + b"[]]", "more than 2000000 values"),
        (b" " * ((32 << 20) + 1), "larger than 32768 KiB"),
        ({"kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": []}, "is no PodList"),
        ({"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": {}}, "is no PodList"),
        ({"kind": "PodList", "metadata": {}, "items": []}, "has no metadata.resourceVersion"),
        ({"kind": "PodList", "metadata": {"resourceVersion": "1", "continue": 5}, "items": []}, "is no PodList"),
    ],
)
def test_a_list_that_is_none_is_complained_about_and_asked_for_again(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], body: dict[str, Any] | bytes, message: str
) -> None:
    server.lists = [lambda request: request.answer(200, body)]
    server.put(pod(1))
    watching = follow()
    assert "\n" not in watching.until_complaint(message)
    watching.until(lambda: watching.names == ["p1"])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (401, '401 Unauthorized: "no"; give credentials that it accepts'),
        (403, '403 Forbidden: "no"; allow them to get, list and watch pods, in all namespaces'),
        (500, '500 Internal Server Error: "no"'),
        (302, '302 Found: "no"'),
    ],
)
def test_a_refusal_is_one_clear_line_and_told_once(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], code: int, message: str
) -> None:
    server.lists = [lambda request: request.refuse(code, "no", Location="http://127.0.0.1:1/")] * 3
    server.put(pod(1))
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    assert watching.complaints == [f"{server.host}: {message}"]


def test_a_server_that_asks_for_time_gets_it(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.lists = [lambda request: request.refuse(429, "too many requests", Retry_After="1")]
    began = time.monotonic()
    watching = follow()
    watching.until(lambda: watching.names == [])
    assert time.monotonic() - began >= 1.0
    assert "429" in watching.complaints[0]


def test_a_server_cannot_ask_for_too_much_time() -> None:
    assert api_connection._MAX_RETRY_AFTER <= 60


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda item: item["spec"].update(nodeName="other"), 'spec.nodeName: "other" is not the node'),
        (lambda item: item["spec"].pop("nodeName"), "is not the node that was asked for"),
        (lambda item: item.update(kind="Secret"), 'kind "Secret"'),
        (lambda item: item["metadata"].pop("uid"), "metadata.uid: is missing"),
        (lambda item: item["metadata"].update(uid="../../x"), "is not a pod UID"),
        (lambda item: item["metadata"].update(annotations={"kubernetes.io/config.mirror": "a/b"}), "is not a pod UID"),
        (lambda item: item["metadata"].pop("name"), "metadata.name: is missing"),
        (lambda item: item["metadata"].update(namespace="../x"), "metadata.namespace"),
        (lambda item: item["spec"]["containers"][0].update(resources={"limits": {"cpu": "lots"}}), "limits.cpu"),
        (lambda item: item["spec"].update(containers=[]), "spec.containers: is empty"),
        (lambda item: item.pop("spec"), "spec.containers: is empty"),
        (lambda item: item.update(spec=[]), "spec: is not a mapping"),
    ],
)
def test_a_pod_that_cannot_be_used_is_one_line_and_the_others_count(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], change: Callable[..., Any], message: str
) -> None:
    bad = pod(1)
    change(bad)
    server.put(bad, name="p1")
    server.put(pod(2))
    watching = follow()
    watching.until(lambda: watching.names == ["p2"])
    assert len(watching.complaints) == 1
    assert message in watching.complaints[0]
    assert "\n" not in watching.complaints[0]
    server.put(pod(3))
    watching.until(lambda: watching.names == ["p2", "p3"])
    assert len(watching.complaints) == 1


def test_objects_that_are_none_at_all_are_one_line_each(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    items: list[Any] = [None, 5, [], {"metadata": "x"}, pod(1)]
    body = {"kind": "PodList", "metadata": {"resourceVersion": "100"}, "items": items}
    server.lists = [lambda request: request.answer(200, body)]
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    assert 1 <= len(watching.complaints) <= 4


def test_a_pod_that_goes_bad_keeps_what_it_had(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.put(pod(1))
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    bad = pod(1)
    bad["spec"]["containers"] = "none"
    server.put(bad)
    assert "its pod stays in force" in watching.until_complaint("spec.containers")
    assert watching.names == ["p1"]
    assert watching.seen.complete
    server.delete("p1")
    watching.until(lambda: watching.names == [])


def test_a_pod_that_was_never_good_leaves_the_picture_incomplete(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    bad = pod(1)
    bad["spec"]["containers"] = []
    server.put(bad)
    watching = follow()
    watching.until(lambda: watching.names == [])
    assert not watching.seen.complete
    server.delete("p1")
    watching.until(lambda: watching.seen.complete)


def test_of_two_pods_with_one_uid_the_one_in_force_stays(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.put(pod(2))
    watching = follow()
    watching.until(lambda: watching.names == ["p2"])
    server.put(pod(2, name="a-first"))
    watching.until_complaint("is also that of default/p2")
    assert watching.names == ["p2"]
    server.delete("p2")
    watching.until(lambda: watching.names == ["a-first"])


def test_a_mirror_pod_is_its_static_pod(server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]) -> None:
    uid = "0123456789abcdef" * 2
    server.put(pod(1, annotations={"kubernetes.io/config.mirror": uid}))
    watching = follow()
    watching.until(lambda: watching.names == ["p1"])
    assert watching.pods[0].uid == uid


def spoilt(raw: bytes, random: Random) -> bytes:
    """Some bytes of it changed, left out or doubled, or only its beginning."""
    body = bytearray(raw)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(body))
        match random.randrange(4):
            case 0:
                body[at] = random.randrange(256)
            case 1:
                del body[at : at + random.randint(1, 20)]
            case 2:
                body[at:at] = body[at : at + random.randint(1, 40)]
            case _:
                body[at:at] = random.choice([b"null", b"[]", b"{}", b"1e999", b'"', b"\n", b"\xff", b"[" * 2000])
    return bytes(body) or b"x"


@pytest.mark.parametrize("seed", range(3))
def test_after_any_bad_answers_what_is_in_force_is_what_the_server_has(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]], seed: int
) -> None:
    random = Random(seed)

    def listed_badly(request: Request) -> None:
        request.answer(200, spoilt(json.dumps(request.server_of.page(request.query)).encode(), random))

    def watched_badly(request: Request) -> None:
        request.begin_chunks()
        for n in range(3):
            changed = pod(n + 1, resourceVersion=str(random.randint(1, 200)))
            event = {"type": random.choice(["ADDED", "MODIFIED", "DELETED"]), "object": changed}
            request.chunk(spoilt(json.dumps(event).encode(), random) + b"\n")
        request.end_chunks()

    for n in range(1, 4):
        server.put(pod(n))
    server.lists, server.watches = [listed_badly] * 25, [watched_badly] * 25
    watching = follow(ApiTimeouts(first=0.001, most=0.005))
    watching.until(lambda: not server.lists and not server.watches)
    server.delete("p1")
    server.forget()
    server.end()
    watching.until(lambda: watching.names == ["p2", "p3"] and watching.seen.complete)
    assert all("\n" not in text and len(text) < 500 for text in watching.complaints)


def test_a_source_that_is_closed_ends_its_thread_although_the_server_is_silent(
    server: ApiServer, follow: Follow
) -> None:
    source = apiserver_source(server.kubeconfig(), NODE, NEW, SOON)
    watching = Watching(source)
    watching.until(lambda: watching.names == [])
    source.close()
    assert not vars(source)["_thread"].is_alive()


def test_credentials_that_are_replaced_are_read_anew(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.put(pod(1))
    watching = follow(kubeconfig=server.kubeconfig(token="old"))
    watching.until_complaint("401 Unauthorized")
    server.kubeconfig()
    watching.until(lambda: watching.names == ["p1"])


def test_a_kubeconfig_that_breaks_meanwhile_is_one_line_and_read_again(
    server: ApiServer, follow: Follow, pod: Callable[..., dict[str, Any]]
) -> None:
    server.put(pod(1))
    kubeconfig = server.kubeconfig()
    watching = follow(kubeconfig=kubeconfig)
    watching.until(lambda: watching.names == ["p1"])
    kubeconfig.write_text("{")
    server.stop()
    assert "\n" not in watching.until_complaint("cannot be used")
    server.kubeconfig()
    server.start()
    server.put(pod(2))
    watching.until(lambda: watching.names == ["p1", "p2"])


def self_signed(directory: Path, name: str) -> tuple[Path, Path]:
    """A certificate of the server and its key."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=api -addext subjectAltName=IP:127.0.0.1"
    try:
        subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("takes openssl")
    return certificate, key


def test_the_server_is_reached_over_tls_if_its_authority_is_known(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, "api")
    server = ApiServer(tmp_path, certificate=(certificate, key))
    try:
        trusting = server.kubeconfig(**{"certificate-authority": str(certificate)})
        assert apiserver_pods(trusting, NODE, NEW, SOON) == []
        with pytest.raises(ApiServerError, match=r"does not answer: its certificate is not trusted: self-signed"):
            apiserver_pods(server.kubeconfig(), NODE, NEW, SOON)
    finally:
        server.stop()


@pytest.mark.parametrize("how", ["in the file that the kubeconfig names", "in the kubeconfig"])
def test_a_new_authority_is_told_until_it_is_known(
    tmp_path: Path, follow: Follow, pod: Callable[..., dict[str, Any]], how: str
) -> None:
    old, new = self_signed(tmp_path, "old"), self_signed(tmp_path, "new")
    trusted = tmp_path / "ca.crt"

    def trusting(certificate: Path) -> dict[str, str]:
        trusted.write_bytes(certificate.read_bytes())
        if how == "in the kubeconfig":
            return {"certificate-authority-data": b64encode(certificate.read_bytes()).decode()}
        return {"certificate-authority": str(trusted)}

    server = ApiServer(tmp_path, certificate=old)
    try:
        server.put(pod(1))
        watching = follow(kubeconfig=server.kubeconfig(**trusting(old[0])))
        watching.until(lambda: watching.names == ["p1"])
        server.stop()
        server.certificate = new
        server.start()
        server.put(pod(2))
        assert watching.until_complaint("its certificate is not trusted").startswith(server.host)
        server.kubeconfig(**trusting(new[0]))
        watching.until(lambda: watching.names == ["p1", "p2"])
    finally:
        server.stop()


def test_a_server_that_hangs_up_in_the_handshake_is_told_in_plain_words(server: ApiServer) -> None:
    def hang_up() -> None:
        connection, _ = listener.accept()
        connection.recv(1 << 16)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=hang_up, daemon=True).start()
        address = f"https://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ApiServerError, match=r"does not answer: the connection was closed$"):
            apiserver_pods(server.kubeconfig(server=address), NODE, NEW, SOON)


def test_listed_once_the_pods_are_a_list(server: ApiServer, pod: Callable[..., dict[str, Any]]) -> None:
    server.put(pod(1))
    server.put(pod(2))
    assert [each.name for each in apiserver_pods(server.kubeconfig(), NODE, NEW, SOON)] == ["p1", "p2"]
    assert versions(server) == []


def test_listed_once_a_server_that_cannot_be_used_is_an_error(
    server: ApiServer, pod: Callable[..., dict[str, Any]]
) -> None:
    server.lists = [lambda request: request.refuse(403, "no")]
    with pytest.raises(ApiServerError, match=r"403 Forbidden") as caught:
        apiserver_pods(server.kubeconfig(), NODE, NEW, SOON)
    assert caught.value.errno == 403
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    kubeconfig = server.kubeconfig()
    kubeconfig.write_text(kubeconfig.read_text().replace(server.host, f"http://127.0.0.1:{port}"))
    with pytest.raises(ApiServerError, match=r"Connection refused"):
        apiserver_pods(kubeconfig, NODE, NEW, SOON)


def test_listed_once_a_pod_that_cannot_be_used_is_an_error(
    server: ApiServer, pod: Callable[..., dict[str, Any]]
) -> None:
    server.put(pod(1))
    server.put(pod(1, name="other"))
    with pytest.raises(PodError, match="is also that of"):
        apiserver_pods(server.kubeconfig(), NODE, NEW, SOON)
    server.put(pod(2, uid="a/b"))
    with pytest.raises(PodError, match="is not a pod UID"):
        apiserver_pods(server.kubeconfig(), NODE, NEW, SOON)


@pytest.mark.parametrize(
    "content",
    [None, "", "[", "[]", "a: b", "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: 5\n", "\x00", b"\xff"],
)
def test_a_kubeconfig_that_cannot_be_used_is_one_clear_line(tmp_path: Path, content: str | bytes | None) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ApiServerError) as caught:
        apiserver_source(path, NODE, NEW)
    assert str(caught.value).startswith(f"{path}: cannot be used: ")
    assert "\n" not in str(caught.value)


def test_outside_of_a_cluster_a_kubeconfig_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ApiServerError, match="give --kubeconfig outside of a pod"):
        apiserver_source(None, NODE, NEW)


def test_without_the_client_library_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(ApiServerError, match="install the Python package kubernetes"):
        apiserver_source(tmp_path / "kubeconfig", NODE, NEW)


def test_no_message_has_a_secret_in_it(server: ApiServer, follow: Follow) -> None:
    kubeconfig = server.kubeconfig(token="wrong-token")
    text = kubeconfig.read_text().replace("http://", "http://user:word@")
    kubeconfig.write_text(text)
    watching = follow(kubeconfig=kubeconfig)
    complaint = watching.until_complaint("401")
    assert "wrong-token" not in complaint
    assert "word" not in complaint


def test_the_engine_does_without_the_client_library_otherwise() -> None:
    modules = "cgroup_engine.cli, cgroup_engine.sources.apiserver"
    code = f"import sys, {modules}; print('kubernetes' in sys.modules, 'urllib3' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.dumps(printed.split()) == '["False", "False"]'
