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
exec cgroup-engine status --check --root /sys/fs/cgroup --config /var/lib/kubelet/config.yaml \
    --node-name "$(hostname)" --runtime-version "$runtime" -
"""
_COLUMNS = ("NODE", "READY", "CPUS", "MEMORY", "PODS", "CGROUPS")


def show(state: State) -> int:
    """Exit code: 1 if a node is not ready, or has other cgroups than computed. Raises ClusterError."""
    state.check_running()
    nodes, pods = _items(state, "nodes"), _items(state, "pods")
    rows, good = [_COLUMNS], True
    for node in nodes:
        name, status = node["metadata"]["name"], node["status"]
        ready = any(said["type"] == "Ready" and said["status"] == "True" for said in status["conditions"])
        here = [pod for pod in pods if pod["spec"].get("nodeName") == name]
        cgroups, as_wanted = _cgroups(state, name, here)
        good = good and ready and as_wanted
        capacity = status["capacity"]
        rows.append((name, "yes" if ready else "no", capacity["cpu"], capacity["memory"], str(len(here)), cgroups))
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


def _cgroups(state: State, node: str, pods: list[dict[str, Any]]) -> tuple[str, bool]:
    """The last line of the engine's status, and whether it found all as wanted."""
    if not pods:
        return "no pods", True
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+") as printed:
        json.dump({"apiVersion": "v1", "kind": "List", "items": pods}, asked)
        asked.seek(0)
        streams = [file.fileno() for file in (asked, printed, printed)]
        code = node_commands.ask(state.node(node) / "commands", ["sh", "-c", _STATUS], streams)
        printed.seek(0)
        lines = printed.read().strip().splitlines()
    return (lines[-1] if lines else f"status {code}"), code == 0
