"""Reads dumps: `kubectl get nodes,pods -A -o json`, YAML, several files, .gz, `-`.

Nodes and pods come in any order, and a cluster's do not fit into memory as Python objects. So each pod is written to a
file without a name, as JSON without what no cgroup depends on, and each node knows where its pods are.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from cgroup_engine.errors import InputError, quoted
from cgroup_engine.inputs.document_parts import Document, Item, Part
from cgroup_engine.inputs.documents import parts_of_file
from cgroup_engine.inputs.standard_input import STANDARD_INPUT, open_input
from cgroup_engine.sources.cluster_api import ClusterApi

MOST_ERRORS = 1000
"""Broken objects that are told one by one; more are counted."""

_GZIP = b"\x1f\x8b"
_SPEC = frozenset(
    "containers initContainers ephemeralContainers nodeName overhead resources priority priorityClassName "
    "terminationGracePeriodSeconds".split()
)
_CONTAINER = frozenset("name resources restartPolicy resizePolicy".split())
_STATUS = frozenset(
    "phase qosClass containerStatuses initContainerStatuses ephemeralContainerStatuses resize resources "
    "allocatedResources conditions observedGeneration".split()
)
_CONTAINER_STATUS = frozenset("name containerID state resources allocatedResources".split())
_METADATA = frozenset("name namespace uid annotations ownerReferences resourceVersion generateName labels".split())


@dataclass
class Dump:
    """The nodes of a cluster by name, as they stand in the dump, and where their pods are.

    `errors` has a line for each object that cannot be used. `homeless` counts pods of no node, and of nodes that are
    not in the dump.
    """

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    more_errors: int = 0
    pods: int = 0
    unscheduled: int = 0

    def __post_init__(self) -> None:
        self._file = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - open until the process ends
        self._end = 0
        self._places: dict[str, list[tuple[int, int]]] = {}

    def tell(self, line: str) -> None:
        """Notes an object that cannot be used."""
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(line)
        else:
            self.more_errors += 1

    def add_pod(self, node: str, pod: Mapping[str, Any]) -> None:
        """Keeps a pod of a node."""
        data = json.dumps(pod, separators=(",", ":")).encode()
        self._file.write(data)
        self._places.setdefault(node, []).append((self._end, len(data)))
        self._end += len(data)
        self.pods += 1

    @property
    def seen(self) -> int:
        """How many objects were taken or refused so far."""
        return len(self.nodes) + self.pods + self.unscheduled + len(self.errors) + self.more_errors

    def done(self) -> None:
        """Ends the reading."""
        self._file.flush()

    def pods_of(self, node: str) -> list[bytes]:
        """The pods of a node, each as JSON. Processes that were forked meanwhile can ask, too."""
        descriptor = self._file.fileno()
        return [os.pread(descriptor, length, start) for start, length in self._places.get(node, ())]

    @property
    def homeless(self) -> Mapping[str, int]:
        """How many pods are on nodes that are not in the dump, by the node's name."""
        return {name: len(places) for name, places in self._places.items() if name not in self.nodes}


def read_live(api: ClusterApi) -> Dump:
    """Reads the nodes and pods of an API server, page by page.

    :raises ApiServerError: it cannot be asked.
    """
    dump = Dump()
    for items in (api.nodes(), api.pods()):
        for item in items:
            _take(item, api.host, dump)
    dump.done()
    return dump


def read_dump(paths: Iterable[Path]) -> Dump:
    """Reads all files; an object that cannot be used is one line in `errors`.

    :raises InputError: a file cannot be read, or has no nodes and pods.
    """
    dump = Dump()
    for path in paths:
        before = dump.seen
        _read_file(path, dump)
        if dump.seen == before:
            raise InputError(
                f"{path}: has no Node and no Pod",
                path=str(path),
                todo="give what kubectl get nodes,pods -A -o json writes",
            )
    dump.done()
    return dump


def _read_file(path: Path, dump: Dump) -> None:
    where = "standard input" if path == STANDARD_INPUT else str(path)
    taken = 0

    def collect(parts: Iterator[Part]) -> None:
        nonlocal taken
        count = 0
        for part in parts:
            if isinstance(part, Item):
                spot = f"{where}: items[{part.number}]"
            else:
                spot = where
                if isinstance(part, Document) and part.items is not None:
                    continue
            count += 1
            if count > taken:  # the text is read again from its beginning if it turns out to be YAML
                taken = count
                _take(part.value, spot, dump)

    try:
        with open_input(path) as raw:
            zipped = raw.read(2) == _GZIP
            raw.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw
            parts_of_file(file, where, InputError, collect)
    except (OSError, EOFError, zlib.error) as failed:
        why = getattr(failed, "strerror", None) or str(failed)
        raise InputError(f"{where}: cannot be read: {why}", path=where, errno=getattr(failed, "errno", None)) from None


def _take(item: Any, where: str, dump: Dump) -> None:
    """Keeps a Node or a Pod; other objects are left out."""
    if not isinstance(item, dict):
        dump.tell(f"{where}: is no object")
        return
    kind, metadata = item.get("kind"), item.get("metadata")
    if kind not in ("Node", "Pod"):
        return
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        dump.tell(f"{where}: a {kind} without metadata.name")
    elif kind == "Node":
        if name in dump.nodes:
            dump.tell(f"{where}: a second Node {quoted(name)}")
        else:
            dump.nodes[name] = _kept_node(item)
    else:
        _take_pod(item, where, dump)


def _take_pod(item: dict[str, Any], where: str, dump: Dump) -> None:
    spec = item.get("spec")
    node = spec.get("nodeName") if isinstance(spec, dict) else None
    if isinstance(node, str) and node:
        dump.add_pod(node, {**_kept_pod(item), "where": where})
    else:
        dump.unscheduled += 1


def _kept_node(item: Mapping[str, Any]) -> dict[str, Any]:
    """A Node without its images, and what else nobody asks for."""
    status = item.get("status")
    kept = (
        {key: status[key] for key in ("capacity", "allocatable", "nodeInfo") if key in status}
        if isinstance(status, dict)
        else {}
    )
    metadata = {key: value for key, value in item["metadata"].items() if key in ("name", "labels", "annotations")}
    return {"metadata": metadata, "status": kept}


def _kept_pod(item: Mapping[str, Any]) -> dict[str, Any]:
    """A Pod without what no cgroup depends on. What has another type than it should stays, so that it is told."""
    kept: dict[str, Any] = {key: item[key] for key in ("kind", "apiVersion") if key in item}
    kept["metadata"] = _only(item.get("metadata"), _METADATA)
    spec = kept["spec"] = _only(item.get("spec"), _SPEC)
    status = kept["status"] = _only(item.get("status"), _STATUS)
    for owner, names, fields in (
        (spec, ("containers", "initContainers", "ephemeralContainers"), _CONTAINER),
        (status, ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"), _CONTAINER_STATUS),
    ):
        for name in names:
            if isinstance(owner, dict) and isinstance(owner.get(name), list):
                owner[name] = [_only(one, fields) for one in owner[name]]
    return kept


def _only(value: Any, names: frozenset[str]) -> Any:
    return {name: one for name, one in value.items() if name in names} if isinstance(value, dict) else value
