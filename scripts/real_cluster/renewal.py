"""New certificates for a cluster that runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from . import credentials, node_commands
from .api import Api, until
from .certificates import Authority
from .errors import ClusterError
from .state import CONTROL_PLANE, State

_PATIENCE = 120.0  # seconds for the API server to answer again, and for each kubelet to be known again
# who does not run at the moment is started again anyway; the API server would wait for its watches without KILL
_CONTROL_PLANE = """
cd "$1/processes"
for name in kube-apiserver kube-controller-manager kube-scheduler prometheus; do
  [ ! -e $name ] || kill -KILL "$(cat $name)" || true
done
"""
_NODE = """
cp "$1/kubeconfig" "$1/ca.crt" /var/lib/kubelet
for process in $(busybox pidof kubelet); do kill "$process" || true; done
"""


def renew(state: State, *, authority: bool) -> None:
    """New certificates for all, by the same authority or a new one, which then is the only one that counts.

    Returns when the API server answers and all kubelets have told it that they live. What pods trust (ca.crt of their
    service account) follows when their kubelet has written it. The keys of their tokens stay. Raises ClusterError.
    """
    nodes = state.nodes()
    issuer = Authority(state.directory / "pki")
    server = json.loads(state.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    if authority:
        issuer.begin()
    credentials.issue(state.directory, issuer)
    credentials.issue_for_machine(state.directory, issuer, server)
    for node in nodes:
        credentials.issue_for_node(node, issuer)
    process = state.directory / "processes" / "kube-apiserver"
    before = process.read_text()
    api = Api.of_administrator(state)
    _run(state, CONTROL_PLANE, _CONTROL_PLANE, state.directory)
    _until("the API server is ready", lambda: process.read_text() != before and api.is_ready(), state)
    began = datetime.now(timezone.utc)
    for node in nodes:
        _run(state, node.name, _NODE, node)
    for node in nodes:
        _until(f"{node.name} has told that it lives", partial(_lives, api, node.name, began), state)


def _lives(api: Api, node: str, since: datetime) -> bool:
    return api.lease(node) > since


def _until(what: str, holds: Callable[[], bool], state: State) -> None:
    until(what, holds, state.check_running, _PATIENCE)


def _run(state: State, where: str, script: str, directory: Path) -> None:
    command = ["sh", "-ec", script, "sh", str(directory)]
    if code := node_commands.ask(state.commands(where), command):
        raise ClusterError(f"{where}: new certificates are there, but what reads them does not start again ({code})")
