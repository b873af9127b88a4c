"""Which of the pods in files are on the node.

``kubectl get pods -A -o json`` gives the pods of all nodes. A kubelet has those with its name in ``spec.nodeName``, and
its static pods, whose manifests name no node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cgroup_engine.errors import PodError, quoted
from cgroup_engine.model.pod import Pod

_SHOWN = 5  # nodes in a message


def of_node(pods: Iterable[Pod], node_name: str | None, where: str = "") -> list[Pod]:
    """The pods on a node: those that name it, and manifests. ``node_name`` None: on the only node that they name.

    ``where``: the file that an error is about, or "" for all pods.

    A manifest names no node and has no resourceVersion. A pod of an API server without spec.nodeName is not scheduled
    yet, so it has no cgroup anywhere and is left out.

    :raises PodError: ``node_name`` is None, and the pods name several nodes.
    """
    scheduled = [pod for pod in pods if not pod.unscheduled]
    names = nodes_of(scheduled)
    if node_name is None and len(names) > 1:
        raise PodError(
            f"{where}{': ' if where else ''}the pods are on {len(names)} nodes: {_listed(names)}",
            path=where or None,
            todo="choose one with --node-name",
        )
    return [pod for pod in scheduled if node_name is None or pod.node_name in ("", node_name)]


def check_node_name(pods: Sequence[Pod], node_name: str | None) -> None:
    """Checks that a pod is on the node, if any pod is on a node.

    :raises PodError: the pods name other nodes only.
    """
    names = nodes_of(pods)
    if node_name is not None and names and not of_node(pods, node_name):
        raise PodError(
            f"no pod is on node {quoted(node_name)}, but on {_listed(names)}",
            value=node_name,
            todo="correct --node-name",
        )


def unscheduled_note(pods: Iterable[Pod]) -> str:
    """A line about the pods that are not scheduled yet, or ""."""
    count = sum(pod.unscheduled for pod in pods)
    if count == 0:
        return ""
    return f"{count} pod{'s are' if count > 1 else ' is'} not scheduled to a node yet, and left out"


def nodes_of(pods: Iterable[Pod]) -> list[str]:
    """The names of the nodes that pods name, sorted."""
    return sorted({pod.node_name for pod in pods if pod.node_name})


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(quoted(name)[1:-1] for name in names[:_SHOWN]) + more
