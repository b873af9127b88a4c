"""Finds the container that POD, POD/CONTAINER, NAMESPACE/POD or NAMESPACE/POD/CONTAINER names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cgroup_engine.change.record import RecordedContainer, RecordedPod
from cgroup_engine.errors import InputError, quoted

_MOST = 8  # candidates in a message


def chosen(text: str, pods: Sequence[RecordedPod]) -> tuple[RecordedPod, RecordedContainer]:
    """The one container that a text names. POD is a pod's name or UID; CONTAINER may be omitted if there is only one.

    :raises InputError: the text fits no container or several, or the pod has several containers.
    """
    meant = list(_meant(text.split("/"), pods))
    if not meant:
        raise InputError(f"{quoted(text)}: {_unknown(text, pods)}", value=text)
    if len(meant) > 1:
        names = [f"{pod}/{container.name}" if container else f"{pod} ({pod.uid})" for pod, container in meant]
        todo = "write NAMESPACE/POD/CONTAINER, or the pod's UID"
        if len(set(names)) < len(names):  # the same pods below several cgroupRoots
            names = [f"/{container.path if container else pod.path}" for pod, container in meant]
            todo = "give --pods and the --config of one of them"
        raise InputError(f"{quoted(text)}: can be {_few(names)}", value=text, todo=todo)
    [(pod, container)] = meant
    if container is not None:
        return pod, container
    if len(pod.containers) == 1:
        return pod, pod.containers[0]
    if not pod.containers:
        raise InputError(f"{pod}: has no container", value=text)
    names = [each.name for each in pod.containers]
    raise InputError(f"{pod}: has {len(names)} containers: {_few(names)}", value=text, todo="write POD/CONTAINER")


def _meant(parts: Sequence[str], pods: Sequence[RecordedPod]) -> Iterator[tuple[RecordedPod, RecordedContainer | None]]:
    for pod in pods:
        called = (pod.name, pod.uid)
        if (len(parts) == 1 and parts[0] in called) or (
            len(parts) == 2 and parts[0] == pod.namespace and parts[1] in called
        ):
            yield pod, None
        for container in pod.containers:
            if container.name == parts[-1] and (
                (len(parts) == 2 and parts[0] in called)
                or (len(parts) == 3 and parts[0] == pod.namespace and parts[1] in called)
            ):
                yield pod, container


def _unknown(text: str, pods: Sequence[RecordedPod]) -> str:
    """The names that the text could have meant."""
    parts = text.split("/")
    for pod in pods:
        if len(parts) > 1 and (parts[-2] in (pod.name, pod.uid)) and parts[:-2] in ([], [pod.namespace]):
            return f"{pod} has no such container, but {_few([each.name for each in pod.containers]) or 'none'}"
    return f"is none of the {len(pods)} pods: {_few([str(pod) for pod in pods])}" if pods else "there are no pods"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
