"""What containers use now: `kubectl top pods -A --containers`, or the answer of a Prometheus query.

The query is ``container_memory_working_set_bytes{container!=""}``, whose answer has the labels namespace, pod and
container.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cgroup_engine.errors import InputError, QuantityError, quoted
from cgroup_engine.fleet.rules import Usage
from cgroup_engine.inputs.standard_input import open_input
from cgroup_engine.model.quantity import parse as parse_quantity

Key = tuple[str, str, str]
_HEAD = ["NAMESPACE", "POD", "NAME"]
_MOST = 1 << 30  # bytes


def read_usage(path: Path) -> Usage:
    """Bytes by namespace, pod and container.

    :raises InputError: it cannot be read, or is neither of the two.
    """
    try:
        with open_input(path) as file:
            text = file.read(_MOST).decode()
    except OSError as failed:
        raise InputError(f"{path}: cannot be read: {failed.strerror}", path=str(path), errno=failed.errno) from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no text in UTF-8", path=str(path)) from None
    found: dict[Key, int] = {}
    rows = _prometheus(text, path) if text.lstrip().startswith("{") else _top(text, path)
    for key, used in rows:
        found[key] = max(used, found.get(key, 0))
    return found


def _top(text: str, path: Path) -> Iterator[tuple[Key, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[:3] == _HEAD:
            continue
        try:
            namespace, pod, container, _, memory = words
            yield (namespace, pod, container), parse_quantity(memory).value()
        except (ValueError, QuantityError):
            raise InputError(
                f"{path}, line {number}: {quoted(line)} is no line of kubectl top pods -A --containers",
                path=str(path),
                todo="give that, or the JSON of a Prometheus query",
            ) from None


def _prometheus(text: str, path: Path) -> Iterator[tuple[Key, int]]:
    try:
        rows: Any = json.loads(text)["data"]["result"]
        for row in rows:
            metric = row["metric"]
            value = row["value"][1] if "value" in row else row["values"][-1][1]
            yield (metric["namespace"], metric["pod"], metric["container"]), int(float(value))
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
        raise InputError(
            f"{path}: is no answer of a Prometheus query with namespace, pod and container",
            path=str(path),
            todo="query container_memory_working_set_bytes",
        ) from None
