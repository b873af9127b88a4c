"""``scripts/cluster churn``: pods come and go in batches while the cluster has its troubles, and nothing may be left.

The troubles: a node is drained, the API server is killed, all certificates are renewed.
"""

from __future__ import annotations

import itertools
import time
import urllib.error
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import churned_pods, kubectl, node_commands, overview, renewal
from .api import Api, until
from .churned_pods import LABEL, NAMESPACE
from .errors import ClusterError
from .state import CONTROL_PLANE, State

_PATIENCE = 600.0  # seconds for a batch to run or to go; an idle machine takes five
_PAUSE = 1.0  # seconds between two looks
_QOS_PATIENCE = 200.0  # seconds for cgroups to be as computed; a kubelet updates its QoS classes each minute
_CONFLICT, _NOT_FOUND = 409, 404
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_KILL_API_SERVER = 'kill -KILL "$(cat "$1/processes/kube-apiserver")"'
_CGROUPS_OF_PODS = ["find", "/sys/fs/cgroup", "-mindepth", "1", "-type", "d", "-name", "pod*"]


def churn(state: State, pods: int, at_once: int, say: Callable[[str], None]) -> None:
    """Makes and deletes so many pods, in batches. Raises ClusterError if something of them stays, or something else
    does not live through it.
    """
    began = time.monotonic()
    run = _Churn(state, say)
    others = run.others()
    run.begin()
    batches = [range(first, min(first + at_once, pods)) for first in range(0, pods, at_once)]
    run.batches(batches)
    run.end()
    if (now := run.others()) != others:
        changed = sorted(name for name in others.keys() | now.keys() if others.get(name) != now.get(name))
        raise ClusterError(f"pods that were there before have gone, come or restarted: {', '.join(changed)}")
    resized = sum(churned_pods.kind(number).larger is not None for number in range(pods))
    say(f"{pods} pods made, {resized} resized in place, {pods} gone, in {time.monotonic() - began:.0f} s")


def cgroups_of(names: Mapping[str, str], cgroups: Sequence[str]) -> list[str]:
    """Those of pods whose `names` are given by uid, each with the pod's name."""
    pairs = itertools.product(cgroups, names.items())
    return [f"{cgroup} of {name}" for cgroup, (uid, name) in pairs if cgroup.endswith(uid)]


class _Churn:
    def __init__(self, state: State, say: Callable[[str], None]) -> None:
        self._state, self._say = state, say
        self._nodes = [node.name for node in state.nodes()]
        self._api = Api.of_administrator(state)
        self._made: dict[str, str] = {}  # names by uid

    def others(self) -> dict[str, object]:
        """The pods that are not ours: how often each of their containers was started again, by names and uid."""
        self._until("the API server answers", self._api.is_ready)
        return {
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": (
                pod["metadata"]["uid"],
                [one["restartCount"] for one in pod["status"].get("containerStatuses", [])],
            )
            for pod in self._api.items("/api/v1/pods")
            if pod["metadata"]["namespace"] != NAMESPACE
        }

    def begin(self) -> None:
        """Makes the namespace. What an earlier run left in it goes first."""
        self._remove_namespace()
        metadata = {"name": NAMESPACE, "labels": {LABEL: ""}}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self._until("the namespace is made", lambda: self._create("/api/v1/namespaces", namespace) != {})

    def batches(self, batches: Sequence[range]) -> None:
        """A batch is deleted while the next one is made. Each trouble has its batch."""
        drained, killed, renewed = (len(batches) * part // 4 for part in (1, 2, 3))
        for batch, numbers in enumerate(batches):
            began = time.monotonic()
            for number in numbers:
                self._make(number, batch)
            if batch == killed:
                self._kill_api_server()
            lasting = [number for number in numbers if not churned_pods.kind(number).hurried]
            self._wait_for(batch, lasting, "runs", churned_pods.is_up)
            ran = time.monotonic() - began
            for number in lasting:
                self._resize(number)
            self._wait_for(batch, lasting, "is resized", churned_pods.is_resized)
            if batch:
                self._wait_for_end(batch - 1)
            if batch == drained:
                self._drain(self._nodes[-1])
            if batch == renewed:
                renewal.renew(self._state, authority=False)
                self._api = Api.of_administrator(self._state)
                self._say("all have new certificates")
            if batch == len(batches) - 1:
                self._as_computed()
            selector = f"{_PODS}?labelSelector={LABEL.replace('/', '%2F')}%3D{batch}"
            self._until("pods are deleted", lambda selector=selector: self._delete(selector))  # type: ignore[misc]
            self._say(f"{numbers.stop} of {batches[-1].stop} pods made; this batch ran after {ran:.0f} s")
        self._wait_for_end(len(batches) - 1)

    def end(self) -> None:
        """Nothing of them is left, and all cgroups are as computed."""
        self._until("no cgroup of a deleted pod is left", lambda: not self._left(), details=self._left)
        self._remove_namespace()
        self._as_computed()

    def _as_computed(self) -> None:
        def as_wanted() -> bool:
            rows.clear()
            found, good = overview.look(self._state)
            rows.extend(f"{row[0]} {row[-1]}" for row in found[1:])
            return good

        rows: list[str] = []
        self._until("cgroups are as computed", as_wanted, patience=_QOS_PATIENCE, details=lambda: rows)
        self._say("; ".join(rows))

    def _create(self, path: str, item: dict[str, Any]) -> Any:
        """None if there is one of the name already."""
        try:
            return self._api.send("POST", path, item)
        except urllib.error.HTTPError as error:
            if error.code == _CONFLICT:
                return None
            raise

    def _delete(self, path: str) -> bool:
        try:
            self._api.send("DELETE", path)
        except urllib.error.HTTPError as error:
            if error.code != _NOT_FOUND:
                raise
        return True

    def _make(self, number: int, batch: int) -> None:
        """Whose answer was lost with the API server is there already."""
        path = f"{_PODS}/{churned_pods.name(number)}"

        def made() -> bool:
            pod = self._create(_PODS, churned_pods.manifest(number, batch)) or self._api.send("GET", path)
            self._made[pod["metadata"]["uid"]] = pod["metadata"]["name"]
            return True

        self._until(f"{churned_pods.name(number)} is made", made)
        if churned_pods.kind(number).hurried:
            self._until(f"{churned_pods.name(number)} is deleted", lambda: self._delete(path))

    def _resize(self, number: int) -> None:
        if churned_pods.kind(number).larger is None:
            return
        path, patch = f"{_PODS}/{churned_pods.name(number)}/resize", churned_pods.resize(number)
        self._until(f"{churned_pods.name(number)} is resized", lambda: bool(self._api.send("PATCH", path, patch)))

    def _wait_for(
        self, batch: int, numbers: Sequence[int], what: str, holds: Callable[[dict[str, Any], int], bool]
    ) -> None:
        waiting = {churned_pods.name(number): number for number in numbers}

        def all_hold() -> bool:
            for pod in self._pods(batch):
                name = pod["metadata"]["name"]
                if name in waiting and holds(pod, waiting[name]):
                    del waiting[name]
            return not waiting

        self._until(f"each pod {what}", all_hold, details=lambda: list(waiting))

    def _wait_for_end(self, batch: int) -> None:
        left: list[str] = []

        def none_left() -> bool:
            left[:] = [pod["metadata"]["name"] for pod in self._pods(batch)]
            return not left

        self._until("deleted pods are gone", none_left, details=lambda: left)

    def _pods(self, batch: int) -> list[dict[str, Any]]:
        return [pod for pod in self._api.items(_PODS) if pod["metadata"]["labels"].get(LABEL) == str(batch)]

    def _kill_api_server(self) -> None:
        command = ["sh", "-ec", _KILL_API_SERVER, "sh", str(self._state.directory)]
        began = time.monotonic()
        if code := node_commands.ask(self._state.commands(CONTROL_PLANE), command):
            raise ClusterError(f"the API server cannot be killed ({code})")
        self._until("the API server is ready again", self._api.is_ready, pause=0.2)
        self._say(f"the API server was killed, and is back after {time.monotonic() - began:.1f} s")

    def _drain(self, node: str) -> None:
        """Of our pods alone."""
        how = [f"--pod-selector={LABEL}", "--force", f"--timeout={_PATIENCE:.0f}s"]
        try:
            kubectl.ask(self._state, "drain", node, *how)
        finally:
            kubectl.ask(self._state, "uncordon", node)
        self._say(f"{node} was drained")

    def _left(self) -> list[str]:
        """The cgroups of deleted pods, with their nodes."""
        found = []
        for node in self._nodes:
            code, printed = node_commands.output(self._state.commands(node), _CGROUPS_OF_PODS)
            if code:
                raise ClusterError(f"{node}: its cgroups cannot be listed ({code})")
            found += [f"{node} {cgroup}" for cgroup in cgroups_of(self._made, printed.splitlines())]
        return found

    def _remove_namespace(self) -> None:
        path = f"/api/v1/namespaces/{NAMESPACE}"

        def gone() -> bool:
            try:
                metadata = self._api.send("GET", path)["metadata"]
            except urllib.error.HTTPError as error:
                if error.code == _NOT_FOUND:
                    return True
                raise
            if LABEL not in metadata.get("labels", {}):
                raise ClusterError(f"there is a namespace {NAMESPACE} that no churn has made; it is left alone")
            if "deletionTimestamp" not in metadata:
                self._delete(path)
            return False

        self._until("the namespace has gone", gone)

    def _until(
        self,
        what: str,
        holds: Callable[[], bool],
        *,
        patience: float = _PATIENCE,
        pause: float = _PAUSE,
        details: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        try:
            until(what, holds, self._state.check_running, patience, pause)
        except ClusterError as error:
            raise ClusterError("; ".join([str(error), *details()])) from None
