"""Learnt kernels: what a file must hold, what is said of one that cannot be used, and what the model plays of it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakecgroup import Kernel
from fakecgroup.machine.learnt import MOST_BYTES, LearntError, parse
from fakecgroup.machine.learnt_files import read_learnt
from fakecgroup_mount.testing.options import read
from fakecgroup_mount.tree_options import make_kernel


def document(**changed: Any) -> dict[str, Any]:
    """A kernel whose pids controller has no pids.peak and whose memory controller is not there."""
    return {
        "format": 1,
        "kernel": {"release": "6.16.12-some"},
        "date": "2026-11-23",
        "machine": {"cpus": 4, "nodes": 2, "memory": 1 << 30, "block_devices": ["259:0"]},
        "config": ["CGROUP_MISC"],
        "v2": {
            "controllers": ["cpu", "pids"],
            "root": ["cgroup.procs", "cgroup.controllers", "cgroup.subtree_control"],
            "child": ["cgroup.procs", "cgroup.controllers", "cpu.max", "pids.max", "pids.current", "of.the.future"],
        },
        "layouts": {"v2": {"rules": "6.12", "answers": {}, "gaps": {}}},
        **changed,
    }


def packed(value: object) -> bytes:
    return gzip.compress(json.dumps(value).encode())


def without(name: str) -> dict[str, Any]:
    whole = document()
    del whole[name]
    return whole


def file_of(directory: Path, value: object, name: str = "mine.kernel") -> str:
    path = directory / name
    path.write_bytes(packed(value))
    return str(path)


def test_a_learnt_kernel_has_the_controllers_that_were_seen(tmp_path: Path) -> None:
    kernel = Kernel(kernel=file_of(tmp_path, document()))
    assert kernel.read("cgroup.controllers") == "cpu pids\n"


def test_a_learnt_kernel_has_the_files_that_were_seen(tmp_path: Path) -> None:
    kernel = Kernel(kernel=file_of(tmp_path, document()))
    kernel.write("cgroup.subtree_control", "+cpu +pids")
    kernel.mkdir("a")
    assert sorted(kernel.listdir("a")) == ["cgroup.controllers", "cgroup.procs", "cpu.max", "pids.current", "pids.max"]
    assert sorted(kernel.listdir("/")) == ["a", "cgroup.controllers", "cgroup.procs", "cgroup.subtree_control"]


def test_a_file_that_a_kernel_got_by_a_patch_is_there_where_its_rules_have_none(tmp_path: Path) -> None:
    sets = {"controllers": ["pids"], "root": None, "child": ["pids.max", "pids.peak", "cgroup.procs"]}
    layouts = {"v2": {"rules": "5.10", "answers": {}, "gaps": {}}}
    kernel = Kernel(kernel=file_of(tmp_path, document(v2=sets, layouts=layouts)))
    kernel.write("cgroup.subtree_control", "+pids")
    kernel.mkdir("a")
    assert kernel.read("a/pids.peak") == "0\n"


def test_files_that_nobody_could_look_at_follow_from_the_rules(tmp_path: Path) -> None:
    sets = {"controllers": ["cpu"], "root": None, "child": None}
    found = set(Kernel(kernel=file_of(tmp_path, document(v2=sets))).listdir("/"))
    known = set(Kernel(kernel="6.12").listdir("/"))
    assert found < known
    assert {name.split(".")[0] for name in known - found} <= {"cpuset", "io", "memory", "misc", "hugetlb", "rdma"}


def test_a_learnt_kernel_goes_by_its_release(tmp_path: Path) -> None:
    assert Kernel(kernel=file_of(tmp_path, document())).personality.name == "6.16.12-some"


def test_kernel_marker_and_command_line_play_the_same_file(tmp_path: Path) -> None:
    path = file_of(tmp_path, document())
    marked = make_kernel(read({"kernel": path, "memory": "8Gi", "cpus": 4}))
    assert marked.personality == Kernel(kernel=path).personality


def test_a_layout_that_was_not_learnt_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^no layout 'v1' in mine.kernel: there is v2$"):
        Kernel("v1", file_of(tmp_path, document()))


def test_fields_that_are_not_known_are_ignored() -> None:
    value = document(of_the_future={"a": [1, 2]})
    value["layouts"]["v3"] = 7
    value["kernel"]["flavour"] = ["x"]
    assert list(parse(packed(value), "x").layouts) == ["v2"]


def nested(depth: int) -> bytes:
    return gzip.compress(b"[" * depth)


WRONG: list[tuple[str, Callable[[], bytes]]] = [
    ("it is empty", lambda: b""),
    ("it is not gzip", lambda: b"#!/bin/sh\n"),
    ("it is not gzip", lambda: json.dumps(document()).encode()),
    ("it is cut off", lambda: packed(document())[:-9]),
    ("it is not gzip", lambda: packed(document())[:40] + b"\xff" * 40),
    ("it has more than 64 MiB unpacked", lambda: gzip.compress(bytes(MOST_BYTES + 1), 1)),
    ("it has more than 4,000,000 values", lambda: nested(4_000_001)),
    ("it is not JSON inside", lambda: nested(100_000)),
    ("it is not JSON inside", lambda: gzip.compress(b"\xff\xfe")),
    ("it is not JSON inside", lambda: gzip.compress(b"9" * 10_000)),
    ("it is not JSON inside", lambda: gzip.compress(b"")),
    ("it has no format", lambda: packed([])),
    ("it has no format", lambda: packed(without("format"))),
    ("its format is '2', and this version reads 1", lambda: packed(document(format=2))),
    ("kernel is missing", lambda: packed(without("kernel"))),
    ("kernel.release is missing", lambda: packed(document(kernel={}))),
    ("kernel.release is no short text", lambda: packed(document(kernel={"release": "6.1\x1b[2J"}))),
    ("layouts is missing", lambda: packed(without("layouts"))),
    ("it has no layout that is known", lambda: packed(document(layouts={}))),
    ("layouts.v2 is no object", lambda: packed(document(layouts={"v2": 1}))),
    ("layouts.v2.rules is missing", lambda: packed(document(layouts={"v2": {}}))),
    (
        "layouts.v2.rules is no version from the oldest to the newest kernel that is known: 5.10, 6.1, 6.12, 6.18, 7.2",
        lambda: packed(document(layouts={"v2": {"rules": "9.9"}})),
    ),
    (
        "layouts.v2.gaps has no list of numbers for a case",
        lambda: packed(document(layouts={"v2": {"rules": "6.12", "answers": {}, "gaps": {"a": 1}}})),
    ),
    ("layouts.v2.answers is missing", lambda: packed(document(layouts={"v2": {"rules": "6.12", "gaps": {}}}))),
    ("config is missing", lambda: packed(without("config"))),
    ("config is no list of names", lambda: packed(document(config=[["x"]]))),
    ("v2.controllers is missing", lambda: packed(document(v2={}))),
    ("v2.child is no list of names", lambda: packed(document(v2={"controllers": [], "child": {}}))),
    ("machine is missing", lambda: packed(without("machine"))),
    ("machine.cpus is no number", lambda: packed(document(machine={"cpus": True}))),
]


@pytest.mark.hostile("a learnt kernel's file that is damaged, too large, or not what it says", times=30)
@pytest.mark.parametrize(("why", "content"), WRONG, ids=[f"{n} {why}" for n, (why, _) in enumerate(WRONG)])
def test_a_file_that_is_wrong_is_told_in_one_line(why: str, content: Callable[[], bytes]) -> None:
    with pytest.raises(LearntError) as raised:
        parse(content(), "bad.kernel")
    assert str(raised.value) == f"bad.kernel is no learnt kernel: {why}"


@pytest.mark.hostile("a directory, a pipe, a device and no file at all in place of a learnt kernel", times=5)
def test_what_is_no_file_is_told_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.kernel")
    told = {}
    for path in (str(tmp_path), str(tmp_path / "pipe.kernel"), "/dev/zero", "/no/such.kernel", "a\0/b"):
        with pytest.raises(LearntError) as raised:
            read_learnt(path)
        told[path] = str(raised.value)
    assert list(told.values()) == [
        f"{tmp_path.name} is no file with a learnt kernel",
        "pipe.kernel is no file with a learnt kernel",
        "zero is no file with a learnt kernel",
        "such.kernel: No such file or directory",
        "b: no file can be called so",
    ]
