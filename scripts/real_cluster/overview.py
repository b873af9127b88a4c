"""``scripts/cluster status``: the nodes, and whether their cgroups are as the engine computes them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import Any

from . import build, node_commands
from .errors import ClusterError
from .state import State

_STATUS = """
runtime=$(runc --version | sed -n 's/^runc version \\([0-9.]*\\).*/runc-\\1/p')
exec cgroup-engine status --root /sys/fs/cgroup --config /run/kubernetes/kubelet.yaml --node-name "$(hostname)" \
    --pods apiserver --kubeconfig /run/kubernetes/kubeconfig --runtime-version "$runtime"
"""
_COLUMNS = ("NODE", "READY", "CPUS", "MEMORY", "PODS", "CGROUPS")


def show(state: State) -> int:
    """Exit code: 1 if a node is not ready, or has other cgroups than computed. Raises ClusterError."""
    if not state.is_running():
        raise ClusterError("no cluster runs; start one with: scripts/cluster up")
    nodes, pods = _items(state, "nodes"), _items(state, "pods")
    rows, good = [_COLUMNS], True
    for node in nodes:
        name, status = node["metadata"]["name"], node["status"]
        ready = any(said["type"] == "Ready" and said["status"] == "True" for said in status["conditions"])
        here = sum(pod["spec"].get("nodeName") == name for pod in pods)
        cgroups, as_wanted = _cgroups(state, name)
        good = good and ready and as_wanted
        capacity = status["capacity"]
        rows.append((name, "yes" if ready else "no", capacity["cpu"], capacity["memory"], str(here), cgroups))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)] + [0]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    return 0 if good else 1


def _items(state: State, kind: str) -> list[dict[str, Any]]:
    command = [str(build.directory() / "kubectl"), "get", kind, "--all-namespaces", "-o", "json"]
    environment = {**os.environ, "KUBECONFIG": str(state.kubeconfig)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"kubectl get {kind}: {(done.stderr.strip().splitlines() or [''])[-1]}")
    return list(json.loads(done.stdout)["items"])


def _cgroups(state: State, node: str) -> tuple[str, bool]:
    """The last line of the engine's status, and whether it found all as wanted."""
    with tempfile.TemporaryFile() as printed, open(os.devnull) as nothing:
        streams = (nothing.fileno(), printed.fileno(), printed.fileno())
        code = node_commands.ask(state.node(node) / "commands", ["sh", "-c", _STATUS.strip() + " --check"], streams)
        printed.seek(0)
        lines = printed.read().decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else f"status {code}"), code == 0
