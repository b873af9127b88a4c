"""``scripts/cluster status``: the nodes, and whether their cgroups are as the engine computes them."""

from __future__ import annotations

import json
from typing import Any

from . import kubectl, node_commands
from .state import State

_STATUS = """
runtime=$(runc --version | sed -n 's/^runc version \\([0-9.]*\\).*/runc-\\1/p')
exec cgroup-engine status --check --root /sys/fs/cgroup --config /var/lib/kubelet/config.yaml \
    --node-name "$(hostname)" --runtime-version "$runtime" -
"""
_COLUMNS = ("NODE", "READY", "CPUS", "MEMORY", "PODS", "CGROUPS")


def show(state: State) -> int:
    """Exit code: 1 if a node is not ready, or has other cgroups than computed. Raises ClusterError."""
    rows, good = look(state)
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)] + [0]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    return 0 if good else 1


def look(state: State) -> tuple[list[tuple[str, ...]], bool]:
    """The table with its header, and whether all is well. Raises ClusterError."""
    state.check_running()
    nodes, pods = _items(state, "nodes"), _items(state, "pods")
    rows: list[tuple[str, ...]] = [_COLUMNS]
    good = True
    for node in nodes:
        name, status = node["metadata"]["name"], node["status"]
        ready = any(said["type"] == "Ready" and said["status"] == "True" for said in status["conditions"])
        here = [pod for pod in pods if pod["spec"].get("nodeName") == name]
        cgroups, as_wanted = _cgroups(state, name, here)
        good = good and ready and as_wanted
        capacity = status["capacity"]
        rows.append((name, "yes" if ready else "no", capacity["cpu"], capacity["memory"], str(len(here)), cgroups))
    return rows, good


def _items(state: State, kind: str) -> list[dict[str, Any]]:
    return list(json.loads(kubectl.ask(state, "get", kind, "--all-namespaces", "-o", "json"))["items"])


def _cgroups(state: State, node: str, pods: list[dict[str, Any]]) -> tuple[str, bool]:
    """The last line of the engine's status, and whether it found all as wanted."""
    if not pods:
        return "no pods", True
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    code, printed = node_commands.output(state.commands(node), ["sh", "-c", _STATUS], given)
    lines = printed.strip().splitlines()
    return (lines[-1] if lines else f"status {code}"), code == 0
