"""Pods from files: Pod, PodList and List objects in YAML or JSON, defaulted and checked.

The engine does here the work of the API server and of the kubelet's static-pod source: ``pod_object`` reads an object,
``pod_defaults`` fills in defaults, and ``pod_checks`` validates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cgroup_engine.errors import PodError, quoted
from cgroup_engine.inputs.documents import read_documents
from cgroup_engine.inputs.pod_checks import check_pod
from cgroup_engine.inputs.pod_defaults import defaulted
from cgroup_engine.inputs.pod_object import decoded, pod_from_object
from cgroup_engine.inputs.static_pods.manifest import Manifests
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod

_MIRROR = "kubernetes.io/config.mirror"
_KINDS = 5  # in a message


def read_pods(
    paths: Iterable[Path],
    version: KubeletVersion,
    manifests: Manifests | None = None,
    notes: list[str] | None = None,
) -> list[Pod]:
    """The pods of files and directories; a directory's .yaml, .yml and .json files are read in order of name.

    ``-`` is standard input. With ``manifests``, a file with one Pod without metadata.uid is the manifest of a static
    pod. ``notes`` gets a line for each List from which other objects were left out.

    :raises PodError: a file or a pod in it cannot be used; the message names file, object and field.
    """
    pods: list[Pod] = []
    for path in paths:
        files = _files(path)
        found = [
            pod
            for file in files
            for pod in pods_of_documents(read_documents(file, PodError), file, version, manifests, notes)
        ]
        if not found:
            raise PodError(f"{path}: holds no pod", path=str(path), todo="give files with Pod, PodList or List objects")
        pods += found
    pods = _without_mirrored_manifests(pods)
    check_unique_uids(pods)
    return pods


def _without_mirrored_manifests(pods: list[Pod]) -> list[Pod]:
    """Drops the manifests of static pods whose mirror pods are there too: these have the containers' ids."""
    mirrored = {pod.uid for pod in pods if _MIRROR in pod.annotations}
    return [pod for pod in pods if not (pod.hashed and pod.uid in mirrored)]


def check_unique_uids(pods: Iterable[Pod]) -> None:
    """Checks that every pod has a UID of its own.

    :raises PodError: two pods have the same UID.
    """
    seen: dict[str, Pod] = {}
    for pod in pods:
        other = seen.setdefault(pod.uid, pod)
        if other is not pod:
            raise PodError(
                f"{pod.source}: pod {pod}: metadata.uid {quoted(pod.uid)} is also that of {other} in {other.source}",
                path=pod.source,
                value=pod.uid,
                todo="give every pod its own UID",
            )


def is_pod_file(name: str) -> bool:
    """Does a directory's file of this name hold pods?"""
    return name.endswith((".yaml", ".yml", ".json")) and not name.startswith(".")


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        return sorted(entry for entry in path.iterdir() if is_pod_file(entry.name) and not entry.is_dir())
    except OSError as failed:
        raise PodError(f"{path}: cannot be read: {failed.strerror}", path=str(path), errno=failed.errno) from None


def pods_of_documents(
    documents: Sequence[Any],
    path: Path,
    version: KubeletVersion,
    manifests: Manifests | None = None,
    notes: list[str] | None = None,
) -> list[Pod]:
    """The pods of a file's documents; see ``read_pods``.

    :raises PodError: a pod in it cannot be used.
    """
    if manifests is not None and len(documents) == 1 and _is_pod_without_uid(documents[0]):
        return [_static_pod(documents[0], path, version, manifests)]
    pods = []
    for number, document in enumerate(documents, 1):
        where = f"{path}" if number == 1 else f"{path}: document {number}"
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind in ("List", "PodList"):
            items = document.get("items") or []
            if not isinstance(items, list):
                raise PodError(f"{where}: items: is not a list", path=str(path), todo="give a list of pods")
            others = Counter(str(item["kind"]) for item in items if kind == "List" and _is_of_another_kind(item))
            if others and notes is not None:
                notes.append(f"{where}: {others.total()} objects are no pods, and left out: {_counted(others)}")
            for index, item in enumerate(items):
                if kind == "List" and _is_of_another_kind(item):
                    continue
                # a PodList's items may leave out kind, as the API server's answer does
                pods.append(pod_from_object(item, f"{where}: items[{index}]", version, kind_needed=kind == "List"))
        else:
            pods.append(pod_from_object(document, where, version))
    return pods


def _is_of_another_kind(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("kind"), str) and item["kind"] != "Pod"


def _counted(kinds: Counter[str]) -> str:
    most = kinds.most_common(_KINDS)
    more = f" and {kinds.total() - sum(count for _, count in most)} more" if len(kinds) > _KINDS else ""
    return ", ".join(f"{count} {quoted(kind)[1:-1]}" for kind, count in most) + more


def _is_pod_without_uid(document: Any) -> bool:
    if not isinstance(document, dict) or document.get("kind") != "Pod":
        return False
    metadata = document.get("metadata")
    return isinstance(metadata, dict) and metadata.get("uid") in (None, "") and not _mirrored(metadata)


def _mirrored(metadata: Mapping[str, Any]) -> bool:
    annotations = metadata.get("annotations")
    return isinstance(annotations, dict) and _MIRROR in annotations


def _static_pod(item: Any, path: Path, version: KubeletVersion, manifests: Manifests) -> Pod:
    pod = defaulted(decoded(item, str(path), version, uid_needed=False), version)
    check_pod(pod, version)
    return manifests.static_pod(item, pod, path, version)
