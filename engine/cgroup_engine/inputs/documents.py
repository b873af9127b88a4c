"""Reads untrusted YAML and JSON files as plain data.

PyYAML's safe loader reads YAML (with libyaml, if PyYAML was built with it: eight times as fast). As in Kubernetes
there are no timestamps and no base-60 numbers, which YAML 1.1 has. Anchors may repeat data. The number of keys that
merge keys add is bounded.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

from cgroup_engine.errors import InputError
from cgroup_engine.gc_pause import gc_paused
from cgroup_engine.inputs.standard_input import open_input

MAX_FILE_BYTES = 64 << 20  # a List of every pod of a large cluster has a few hundred pods per MiB
_CHUNK = 1 << 20
_MAX_MERGED_KEYS = 100_000
_MAX_DEPTH = 500  # libyaml's loader recurses in C, where too much ends the process


class _Loader(_SafeLoader):
    """The safe loader with fewer implicit types and a bound on merge keys."""

    merged = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        before = len(node.value)
        super().flatten_mapping(node)
        self.merged += max(0, len(node.value) - before)
        if self.merged > _MAX_MERGED_KEYS:
            raise yaml.constructor.ConstructorError(
                None, None, "merge keys (<<) repeat more than 100000 keys", node.start_mark
            )


_NO_BASE_60 = re.compile(r"[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+")
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(rf"^(?:{_NO_BASE_60.pattern})$"), list("-+0123456789")
)


_BLOCKS = re.compile(r"^[ \t\-?:]*", re.MULTILINE)  # the part of a line where block collections start
_OTHER_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")


def _may_be_deep(text: str) -> bool:
    """Could a text be nested too deeply? An upper bound, without parsing it.

    Each level begins at a bracket, or in another column than the level around it. One more level may begin at the same
    place: a pair in a flow sequence, or a sequence in a mapping.
    """
    brackets = text.count("[") + text.count("{") - text.count("[]") - text.count("{}")
    columns = max(map(len, _BLOCKS.findall(text)))
    return 2 * (brackets + columns + 2) > _MAX_DEPTH or _OTHER_LINE_ENDS.search(text) is not None


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise RecursionError
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


_MAY_BEGIN_NODES = "\n\r-?:,[{"  # before each node, or around an omitted one


def _check_nodes(text: str, most: int) -> None:
    """Refuses too many nodes (some 500 bytes each) before they are made: it counts events, which come one by one."""
    if 3 * sum(map(text.count, _MAY_BEGIN_NODES)) + 3 <= most:
        return
    nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > most:
            raise yaml.YAMLError(f"it has more than {most} values")


def read_documents(path: Path, error: type[InputError]) -> list[Any]:
    """The documents of a YAML or JSON file, without empty ones.

    :raises InputError: an error of the given class: unreadable, too large, not text, not YAML, no document at all.
    """
    where = str(path)
    try:
        with open_input(path) as file:
            raw = read_at_most(file.fileno(), MAX_FILE_BYTES)
    except OSError as failed:
        raise error(f"{where}: cannot be read: {failed.strerror}", path=where, errno=failed.errno) from None
    if raw is None:
        raise error(f"{where}: larger than {MAX_FILE_BYTES >> 20} MiB", path=where, todo="split the file")
    return documents_of(raw, where, error)


def read_at_most(file: int, most: int) -> bytes | None:
    """Reads a descriptor to its end, whatever size stat gives; None if that is more than ``most`` bytes.

    :raises OSError: it cannot be read.
    """
    chunks, length = [], 0
    while chunk := os.read(file, _CHUNK):
        length += len(chunk)
        if length > most:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def documents_of(raw: bytes, where: str, error: type[InputError], most_nodes: int | None = None) -> list[Any]:
    """The documents in bytes that were read from ``where``, without empty ones; ``most_nodes`` bounds YAML's values.

    :raises InputError: an error of the given class: not text, not YAML, no document at all, too many nodes.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{where}: is not text in UTF-8", path=where, todo="give a YAML or JSON file") from None
    with gc_paused():
        documents = _loaded(text, where, error, most_nodes)
    if not documents:
        raise error(f"{where}: is empty", path=where, todo="give a YAML or JSON file")
    return documents


def _loaded(text: str, where: str, error: type[InputError], most_nodes: int | None) -> list[Any]:
    try:
        if text.lstrip()[:1] == "{":
            try:
                return [json.loads(text)]
            except ValueError:
                pass  # YAML flow style, or a JSON document among others
        if yaml.__with_libyaml__ and _may_be_deep(text):
            _check_depth(text)
        if most_nodes is not None:
            _check_nodes(text, most_nodes)
        return [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except RecursionError:
        raise error(f"{where}: is nested too deeply", path=where, todo="give a YAML or JSON file") from None
    except yaml.MarkedYAMLError as failed:
        mark = failed.problem_mark
        line = f", line {mark.line + 1}" if mark is not None else ""
        problem = " ".join((failed.problem or "cannot be parsed").split())
        raise error(f"{where}{line}: is not YAML: {problem}", path=where, todo="correct the file") from None
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as failed:
        # explicit tags such as !!timestamp and !!bool make PyYAML's constructors raise these
        problem = " ".join(str(failed).split())[:200]
        raise error(f"{where}: is not YAML: {problem}", path=where, todo="correct the file") from None
