"""Dumps in their forms."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cgroup_engine.errors import InputError
from cgroup_engine.fleet.dump import read_dump

from .conftest import node_object, pod_object

DumpOf = Callable[..., Path]


def names_of(dump_path: Path, node: str = "n1") -> list[str]:
    dump = read_dump([dump_path])
    return [json.loads(pod)["metadata"]["name"] for pod in dump.pods_of(node)]


def test_nodes_and_pods_come_in_any_order(dump_of: DumpOf) -> None:
    path = dump_of(pod_object(1), pod_object(2, "n2"), node_object("n1"), pod_object(3), node_object("n2"))
    assert names_of(path) == ["p1", "p3"]
    assert names_of(path, "n2") == ["p2"]


@pytest.mark.parametrize("form", ["yaml", "gz", "documents"])
def test_a_dump_has_many_forms(form: str, tmp_path: Path) -> None:
    items = [node_object(), pod_object(1)]
    data = json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()
    if form == "yaml":
        data = yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": items}).encode()
    elif form == "gz":
        data = gzip.compress(data)
    else:
        data = yaml.safe_dump_all(items).encode()
    (tmp_path / "dump").write_bytes(data)
    assert names_of(tmp_path / "dump") == ["p1"]


def test_nodes_and_pods_may_be_in_several_files(dump_of: DumpOf) -> None:
    dump = read_dump([dump_of(node_object(), name="nodes.json"), dump_of(pod_object(1), name="pods.json")])
    assert (list(dump.nodes), dump.pods) == (["n1"], 1)


def test_what_no_cgroup_depends_on_is_dropped(dump_of: DumpOf) -> None:
    pod = pod_object(1)
    pod["metadata"]["managedFields"] = [{"large": "x" * 10_000}]
    pod["spec"]["volumes"] = [{"name": "v"}]
    (kept,) = read_dump([dump_of(node_object(), pod)]).pods_of("n1")
    assert len(kept) < 600


def test_a_broken_object_is_one_line_and_the_others_stay(dump_of: DumpOf) -> None:
    dump = read_dump([dump_of(node_object(), 7, {"kind": "Pod"}, {"kind": "Secret"}, node_object(), pod_object(1))])
    assert [line.partition(": ")[2] for line in dump.errors] == [
        "items[1]: is no object",
        "items[2]: a Pod without metadata.name",
        'items[4]: a second Node "n1"',
    ]
    assert dump.pods == 1


def test_pods_of_no_node_are_counted(dump_of: DumpOf) -> None:
    dump = read_dump([dump_of(node_object(), pod_object(1, ""), pod_object(2, "gone"))])
    assert (dump.unscheduled, dict(dump.homeless)) == (1, {"gone": 1})


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "is empty"),
        (b'{"kind": "Secret", "apiVersion": "v1"}', "has no Node and no Pod"),
        (b"\x1f\x8bnonsense", "cannot be read"),
        (gzip.compress(b"{" * 1000, mtime=0)[:-20], "cannot be read"),
        (b"{" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "is not text in UTF-8"),
    ],
)
def test_what_is_no_dump_is_one_line(data: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(data)
    with pytest.raises(InputError) as refused:
        read_dump([tmp_path / "dump"])
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
