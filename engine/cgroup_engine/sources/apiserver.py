"""Pods of one node from an API server: listed once, then watched, and listed again if the server asks for it."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cgroup_engine.errors import ApiServerError, PodError, quoted
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.inputs.pods import check_unique_uids
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.api_connection import ApiTimeouts, BrokenOffError, SilentServerError
from cgroup_engine.sources.jittered_backoff import JitteredBackoff
from cgroup_engine.sources.pod_api import PodApi
from cgroup_engine.sources.pod_store import PodStore
from cgroup_engine.sources.source import PodSource, Seen

_GONE = 410
_CLOSING_TRIES = 20  # a thread that connects for longer than a second is left behind, as it ends with the process
_SERVER = ""  # the origin of complaints about the server itself


def apiserver_source(
    kubeconfig: Path | None, node_name: str, version: KubeletVersion, timeouts: ApiTimeouts | None = None
) -> PodSource:
    """The pods that are bound to a node, as they come and go.

    ``kubeconfig``: the file with server and credentials; None in a pod, whose service account is used. If the server
    cannot be reached, refuses, or answers nonsense, that is a complaint. The pods stay in force, and the server is
    asked again later.

    :raises ApiServerError: the Python package kubernetes is missing, or there is no usable configuration.
    """
    return _ApiServerSource(
        PodApi(kubeconfig, node_name, timeouts or ApiTimeouts()), node_name, version, timeouts or ApiTimeouts()
    )


def apiserver_pods(
    kubeconfig: Path | None, node_name: str, version: KubeletVersion, timeouts: ApiTimeouts | None = None
) -> list[Pod]:
    """The pods that are bound to a node, listed once.

    :raises ApiServerError: as ``apiserver_source``, and if the server cannot be reached, refuses or does not answer.
    :raises PodError: a pod cannot be used.
    """
    api = PodApi(kubeconfig, node_name, timeouts or ApiTimeouts())
    listed, _ = api.listed(lambda item: _read(item, api.host, node_name, version))
    pods: list[Pod] = []
    for found in listed:
        if found.wrong is not None:
            raise found.wrong
        pods += found.pods
    check_unique_uids(pods)
    return pods


@dataclass(frozen=True)
class _Found:
    """An object from the server: its origin, and its pod or the error in it."""

    origin: str
    pods: tuple[Pod, ...] = ()
    wrong: PodError | None = None
    may_hold_pods: bool = True


def _read(item: Any, host: str, node_name: str, version: KubeletVersion) -> _Found:
    origin = _origin_of(item)
    try:
        pod = pod_from_object(item, host, version, kind_needed=False)
    except PodError as wrong:
        return _Found(origin, wrong=wrong)
    bound_to = item["spec"].get("nodeName")
    if bound_to != node_name:
        text = f"{host}: pod {pod}: spec.nodeName: {quoted(bound_to)} is not the node that was asked for"
        return _Found(origin, wrong=PodError(text), may_hold_pods=False)
    return _Found(origin, (pod,))


def _origin_of(item: Any) -> str:
    """Namespace and name, which are unique on the server; for an object without them, any text that identifies it."""
    metadata = item.get("metadata") if isinstance(item, dict) else None
    if not isinstance(metadata, dict):
        return "?"
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if isinstance(name, str) and isinstance(namespace, str):
        return f"{namespace}/{name}"
    return f"? {quoted(metadata.get('uid'))} {quoted(name)}"


class _ApiServerSource:
    """Follows the server in a thread, so that a hanging server blocks nobody."""

    def __init__(self, api: PodApi, node_name: str, version: KubeletVersion, timeouts: ApiTimeouts) -> None:
        self._api, self._node_name, self._version, self._timeouts = api, node_name, version, timeouts
        self._lock = threading.Lock()
        self._store = PodStore()
        self._listed = False  # has a list succeeded once?
        self._at = ""  # resourceVersion up to which all is known; "": list again
        self._event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="apiserver", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        return self._event

    def look(self) -> Seen:
        try:
            os.eventfd_read(self._event)
        except BlockingIOError:
            pass
        with self._lock:
            seen = self._store.seen()
            return seen if self._listed else replace(seen, pods=None, complete=False)

    def close(self) -> None:
        self._closing.set()
        for _ in range(_CLOSING_TRIES):
            self._api.stop()  # repeated: a request may have begun since
            self._thread.join(0.05)
            if not self._thread.is_alive():
                break
        with self._lock:
            os.close(self._event)
            self._event = -1

    def _tell(self) -> None:
        """Wakes whoever waits. Call it with the lock held."""
        if self._event >= 0:
            os.eventfd_write(self._event, 1)

    def _follow(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # signals are for the main thread
        backoff = JitteredBackoff(self._timeouts.first, self._timeouts.most)
        while not self._closing.is_set():
            began, wrong = time.monotonic(), None
            try:
                if not self._at:
                    self._list()
                    began = time.monotonic()
                self._watch()
            except ApiServerError as failed:
                wrong = failed
            except Exception as failed:
                # no answer of a server may end this thread
                wrong = self._error(f"{type(failed).__name__}: {' '.join(str(failed).split())[:200]}")
                self._at = ""
            if time.monotonic() - began >= self._timeouts.settled:
                self._well()
                backoff.reset()
            if wrong is not None and wrong.errno == _GONE:
                self._at = ""
            elif wrong is not None:
                self._complain(wrong)
            self._closing.wait(max(backoff.next(), wrong.retry_after if wrong is not None else 0.0))

    def _well(self) -> None:
        """The server works again: a later failure is a new complaint."""
        with self._lock:
            self._store.drop(_SERVER)

    def _complain(self, failed: ApiServerError) -> None:
        if self._closing.is_set():
            return
        with self._lock:
            self._store.complain(_SERVER, failed.message, failed.todo, may_hold_pods=False)
            self._tell()

    def _list(self) -> None:
        listed, at = self._api.listed(lambda item: _read(item, self._api.host, self._node_name, self._version))
        with self._lock:
            for found in listed:
                self._take(found)
            self._store.keep_only({_SERVER, *(found.origin for found in listed)})
            self._listed, self._at = True, at
            self._tell()

    def _watch(self) -> None:
        events, heard = self._api.watch(self._at), False
        try:
            for event in events:
                self._hear(event)
                heard = True
        except SilentServerError:
            if not heard:
                self._at = ""  # the server may not know the version, as after a restored backup
        except BrokenOffError:
            raise
        except ApiServerError:
            self._at = ""  # an event was missed
            raise

    def _hear(self, event: Any) -> None:
        if not isinstance(event, dict):
            raise self._error("its watch sent no event")
        kind, item = event.get("type"), event.get("object")
        item = item if isinstance(item, dict) else {}
        if kind == "ERROR":
            raise self._error(f"its watch ended: {quoted(item.get('message'), 200)}", item.get("code"))
        if kind not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
            raise self._error(f"its watch sent an event of the type {quoted(kind)}")
        metadata = item.get("metadata")
        at = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        if not isinstance(at, str) or at in ("", "0"):
            raise self._error(f"its watch sent a {kind} without metadata.resourceVersion")
        with self._lock:
            if kind == "DELETED":
                self._store.drop(_origin_of(item))
            elif kind != "BOOKMARK":
                self._take(_read(item, self._api.host, self._node_name, self._version))
            self._at = at
            self._store.drop(_SERVER)
            self._tell()

    def _error(self, text: str, code: object = None) -> ApiServerError:
        return ApiServerError(f"{self._api.host}: {text}", errno=_GONE if code == _GONE else None)

    def _take(self, found: _Found) -> None:
        if found.wrong is None:
            self._store.put(found.origin, found.pods)
        else:
            wrong = found.wrong
            self._store.complain(found.origin, wrong.message, wrong.todo, may_hold_pods=found.may_hold_pods)
