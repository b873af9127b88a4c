"""Tables of results of the kubelet's own functions: the project's samples, and full ones in an outside directory."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "data"
OUTSIDE = "KUBELET_TABLES"  # names a directory with the full tables: nodes.jsonl.gz, tableC_v1_1.36.2.jsonl.gz, ...

Row = dict[str, Any]


def rows_of(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def outside_directory() -> Path | None:
    """The directory with the full tables, if there is one."""
    return Path(os.environ[OUTSIDE]) if os.environ.get(OUTSIDE) else None


def sampled_nodes() -> list[Row]:
    """Nodes with ``pods`` (objects) and ``expected``: kubelet version -> v1 and v2 -> results of its functions."""
    return rows_of(SAMPLES / "nodes.jsonl.gz")


def nodes_of(directory: Path, versions: tuple[str, ...]) -> list[Row]:
    """The nodes of the full tables in the form of ``sampled_nodes``."""
    pods = {
        row["id"]: row["pod"] for name in ("pods", "pods_of_nodes") for row in rows_of(directory / f"{name}.jsonl.gz")
    }
    tables = {
        (version, mode): {row["id"]: row for row in rows_of(directory / f"tableC_{mode}_{version}.jsonl.gz")}
        for version in versions
        for mode in ("v1", "v2")
    }
    return [
        {
            **node,
            "pods": [pods[name] for name in node["pods"]],
            "expected": {
                version: {mode: tables[version, mode][node["id"]] for mode in ("v1", "v2")} for version in versions
            },
        }
        for node in rows_of(directory / "nodes.jsonl.gz")
    ]


def sampled_pods() -> list[Row]:
    """Pods with ``answers`` (kubelet version -> rows of table A) and ``static`` (-> the static source's pod)."""
    return rows_of(SAMPLES / "pods.jsonl.gz")


def pods_of(directory: Path, version: str) -> list[Row]:
    """The pods of the full tables in the form of ``sampled_pods``, for one version."""
    answers: dict[str, list[Row]] = {}
    for row in rows_of(directory / f"tableA_{version}.jsonl.gz"):
        answers.setdefault(row["id"], []).append(row)
    static = {row["id"]: row for row in rows_of(directory / f"tableA_static_{version}.jsonl.gz")}
    return [
        {
            "id": row["id"],
            "pod": row["pod"],
            "answers": {version: answers.get(row["id"], [])},
            "static": {version: static[row["id"]]} if row["id"] in static else {},
        }
        for row in rows_of(directory / "pods.jsonl.gz")
    ]


def functions_of(directory: Path, version: str) -> list[Row]:
    """The rows of table B: single functions."""
    return rows_of(directory / f"tableB_{version}.jsonl.gz")
