"""Pods from files: Pod, PodList and List objects in YAML or JSON, defaulted and checked.

The engine does here the work of the API server and of the kubelet's static-pod source: ``pod_object`` reads an object,
``pod_defaults`` fills in defaults, and ``pod_checks`` validates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cgroup_engine.errors import PodError, quoted
from cgroup_engine.inputs.document_parts import Document, Item, Part
from cgroup_engine.inputs.documents import read_parts
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
    return read_pods_of_versions(paths, [version], manifests, notes)[0]


def read_pods_of_versions(
    paths: Iterable[Path],
    versions: Sequence[KubeletVersion],
    manifests: Manifests | None = None,
    notes: list[str] | None = None,
) -> list[list[Pod]]:
    """``read_pods`` for each kubelet, with each file read once: fields and defaults depend on the release.

    :raises PodError: as ``read_pods``, for any of the kubelets.
    """
    pods: list[list[Pod]] = [[] for _ in versions]
    for path in paths:
        found = False
        for file in _files(path):
            parts_to_pods = partial(pods_of_parts, file, versions, manifests, notes)
            for all_, these in zip(pods, read_parts(file, PodError, parts_to_pods), strict=True):
                all_ += these
                found = found or bool(these)
        if not found:
            raise PodError(f"{path}: holds no pod", path=str(path), todo="give files with Pod, PodList or List objects")
    pods = [_without_mirrored_manifests(each) for each in pods]
    for each in pods:
        check_unique_uids(each)
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


def pods_of_parts(
    path: Path,
    versions: Sequence[KubeletVersion],
    manifests: Manifests | None,
    notes: list[str] | None,
    parts: Iterable[Part],
) -> list[list[Pod]]:
    """The pods of a file's parts for each kubelet; see ``read_pods``.

    The parts are read to the end in any case, as the text may be wrong further on.

    :raises PodError: a pod in it cannot be used.
    """
    readers = [_FileReader(path, version, manifests) for version in versions]
    for part in parts:
        for reader in readers:
            reader.take(part)
    pods = [reader.pods() for reader in readers]
    if notes is not None:
        notes += readers[0].notes
    return pods


class _FileReader:
    """Makes pods of the parts of a file. After a pod that cannot be used it takes no more, and ``pods`` raises."""

    def __init__(self, path: Path, version: KubeletVersion, manifests: Manifests | None) -> None:
        self._path, self._version, self._manifests = path, version, manifests
        self._pods: list[Pod] = []
        self._items = _Items(f"{path}", version)
        self._documents = 0
        self._manifest: Any = None  # the first document, if it is a static pod's manifest unless a second one follows
        self._wrong: PodError | None = None
        self.notes: list[str] = []

    def take(self, part: Part) -> None:
        if self._wrong is not None:
            return
        try:
            if isinstance(part, Item):
                if part.number == 0:
                    self._items = _Items(self._where(), self._version)
                self._items.take(part)
            elif part.value is not None:
                self._take_document(part)
        except PodError as wrong:
            self._wrong = wrong

    def pods(self) -> list[Pod]:
        """The pods, after the last part.

        :raises PodError: a pod cannot be used.
        """
        if self._wrong is not None:
            raise self._wrong
        if self._manifest is not None and self._manifests is not None:
            return [_static_pod(self._manifest, self._path, self._version, self._manifests)]
        return self._pods

    def _where(self) -> str:
        return f"{self._path}: document {self._documents + 1}" if self._documents else f"{self._path}"

    def _take_document(self, part: Document) -> None:
        document, where = part.value, self._where()
        self._documents += 1
        if self._manifest is not None:
            self._pods.append(pod_from_object(self._manifest, f"{self._path}", self._version))
            self._manifest = None
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind in ("List", "PodList"):
            items = self._items if part.items else self._items_in(document, where)
            self._pods += items.of_list() if kind == "List" else items.of_pod_list()
            self.notes += items.notes() if kind == "List" else ()
        elif self._documents == 1 and self._manifests is not None and _is_pod_without_uid(document):
            self._manifest = document
        else:
            self._pods.append(pod_from_object(document, where, self._version))

    def _items_in(self, document: Mapping[str, Any], where: str) -> _Items:
        """The items that did not come one by one, as other objects refer to them."""
        listed = document.get("items") or []
        if not isinstance(listed, list):
            raise PodError(f"{where}: items: is not a list", path=str(self._path), todo="give a list of pods")
        items = _Items(where, self._version)
        for index, item in enumerate(listed):
            items.take(Item(index, item))
        return items


class _Items:
    """The items of one list, read as those of a List and of a PodList: kubectl writes the kind after them.

    A List may have other objects. A PodList's items may leave out kind, as the API server's answer does.
    """

    def __init__(self, where: str, version: KubeletVersion) -> None:
        self._where, self._version = where, version
        self._pods: list[Pod] = []
        self._others: Counter[str] = Counter()
        self._wrong: PodError | None = None  # in either kind
        self._not_in_list: PodError | None = None
        self._not_in_pod_list: PodError | None = None

    def take(self, part: Item) -> None:
        if self._wrong is not None:
            return
        item, where = part.value, f"{self._where}: items[{part.number}]"
        if isinstance(item, dict) and isinstance(item.get("kind"), str) and item["kind"] != "Pod":
            self._others[item["kind"]] += 1
            self._not_in_pod_list = self._not_in_pod_list or self._refused(item, where)
            return
        if isinstance(item, dict) and item.get("kind") is None and item.get("apiVersion") is None:
            self._not_in_list = self._not_in_list or self._refused(item, where)
        try:
            self._pods.append(pod_from_object(item, where, self._version, kind_needed=False))
        except PodError as wrong:
            self._wrong = wrong

    def of_list(self) -> list[Pod]:
        """The pods of a List.

        :raises PodError: the first item that cannot be used.
        """
        return self._unless(self._not_in_list)

    def of_pod_list(self) -> list[Pod]:
        """The pods of a PodList.

        :raises PodError: the first item that cannot be used.
        """
        return self._unless(self._not_in_pod_list)

    def notes(self) -> list[str]:
        """A line about the other objects in a List, if there are any."""
        count = self._others.total()
        if count == 0:
            return []
        what = "1 object is no pod" if count == 1 else f"{count} objects are no pods"
        return [f"{self._where}: {what}, and left out: {_counted(self._others)}"]

    def _unless(self, wrong: PodError | None) -> list[Pod]:
        wrong = wrong or self._wrong  # none was looked at after self._wrong
        if wrong is not None:
            raise wrong
        return self._pods

    def _refused(self, item: Mapping[str, Any], where: str) -> PodError | None:
        """The error of an item that is not said to be a Pod."""
        try:
            pod_from_object(item, where, self._version)
        except PodError as wrong:
            return wrong
        return None


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
