"""The record of a tree that an engine made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.record import (
    VARIABLE,
    Record,
    RecordedContainer,
    RecordedPod,
    RecordFile,
    recorded_pods,
    state_directory,
)
from cgroup_engine.errors import RecordError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.tree.layout import Layout

V1 = Layout(1, ("cpu", "memory"), {})
POD = RecordedPod(
    "default", "web", "1234-5", "own/kubepods/pod1234-5", (RecordedContainer("c", "own/kubepods/pod1234-5/cafe", 875),)
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory with two hierarchies, in which kubepods is not made yet."""
    for tree in V1.hierarchies:
        (tmp_path / "root" / tree / "own").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def file(root: Path, tmp_path: Path) -> RecordFile:
    return RecordFile(tmp_path / "state", str(root), V1, "own/kubepods")


def _make_kubepods(root: Path, tree: str = "cpu") -> None:
    (root / tree / "own" / "kubepods").mkdir()


def test_without_a_record_there_is_none_and_no_directory_is_made(file: RecordFile, tmp_path: Path) -> None:
    assert file.read() is None
    assert not (tmp_path / "state").exists()


def test_what_was_written_is_read(file: RecordFile, tmp_path: Path) -> None:
    file.write(Record({}, (POD,)))
    assert file.read() == Record({}, (POD,))
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert [each.name for each in (tmp_path / "state").iterdir()] == [file.name]


def test_it_is_removed_without_a_trace_and_twice(file: RecordFile, tmp_path: Path) -> None:
    file.write(Record({}, ()))
    (tmp_path / "state" / f"{file.name}.new").write_text("what a crash left")
    file.remove()
    file.remove()
    assert list((tmp_path / "state").iterdir()) == []


def test_kubepods_that_someone_else_made_anew_is_not_recorded(file: RecordFile, root: Path) -> None:
    _make_kubepods(root)
    _make_kubepods(root, "memory")
    file.write(Record(file.inodes(), ()))
    assert file.read() is not None
    (root / "cpu/own/kubepods").rename(root / "kept")  # keeps its inode from being reused
    _make_kubepods(root)
    assert file.read() is not None, "the other hierarchy still has ours"
    (root / "memory/own/kubepods").rename(root / "kept too")
    assert file.read() is None


def test_what_was_about_to_be_made_counts_once_it_is_there(file: RecordFile, root: Path) -> None:
    file.write(Record({}, ()))
    _make_kubepods(root)
    assert file.read() is not None


@pytest.mark.parametrize(("key", "value"), [("boot", "another"), ("device", 1), ("root", "/"), ("kubepods", "x")])
def test_a_record_of_another_boot_or_mount_does_not_count(
    file: RecordFile, tmp_path: Path, key: str, value: str | int
) -> None:
    file.write(Record({}, ()))
    path = tmp_path / "state" / file.name
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    assert file.read() is None
    assert file.ignored == ""


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"pods": None},
        {"pods": [1]},
        {"inodes": [1]},
        {"pods": [{"uid": "../../etc", "namespace": "n", "name": "p", "path": "a", "containers": []}]},
        {"pods": [{"uid": "u", "namespace": "n", "name": "p", "path": "../a", "containers": []}]},
        {"pods": [{"uid": "u", "namespace": "n", "name": "p", "path": "a//b", "containers": []}]},
        {"pods": [{"uid": "u", "namespace": 1, "name": "p", "path": "a", "containers": []}]},
    ],
)
def test_a_record_that_is_none_is_ignored_with_a_line(file: RecordFile, tmp_path: Path, change: dict[str, Any]) -> None:
    file.write(Record({}, ()))
    path = tmp_path / "state" / file.name
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert file.read() is None
    assert file.ignored == f"{path}: is no record of this version, ignored"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, "\x00"])
def test_a_broken_record_is_ignored_with_a_line(file: RecordFile, tmp_path: Path, text: str) -> None:
    file.write(Record({}, ()))
    (tmp_path / "state" / file.name).write_text(text)
    assert file.read() is None
    assert "ignored" in file.ignored


def test_links_fifos_and_what_others_may_write_are_ignored(file: RecordFile, tmp_path: Path) -> None:
    file.write(Record({}, ()))
    path = tmp_path / "state" / file.name
    path.chmod(0o666)
    assert file.read() is None
    assert file.ignored == f"{path}: others may write to it, ignored"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert file.read() is None
    assert file.ignored == f"{path}: ELOOP, ignored"
    path.unlink()
    os.mkfifo(path)
    assert file.read() is None
    assert file.ignored == f"{path}: is no record, ignored"


def test_a_state_directory_that_others_may_write_to_is_refused(file: RecordFile, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    for use in (file.read, file.remove, lambda: file.write(Record({}, ()))):
        with pytest.raises(RecordError, match="others may write to it; give a directory of your own with --state-dir"):
            use()


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to give a directory away")
def test_a_state_directory_of_someone_else_is_refused(file: RecordFile, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", 1000, 1000)
    with pytest.raises(RecordError, match="it belongs to user 1000"):
        file.read()


def test_a_state_directory_that_is_a_link_is_refused(file: RecordFile, tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to(tmp_path)
    with pytest.raises(RecordError, match=r"ENOTDIR|ELOOP"):
        file.write(Record({}, ()))


def test_a_state_directory_that_cannot_be_made_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="ENOENT"):
        RecordFile(tmp_path / "none" / "state", str(root), V1, "kubepods").write(Record({}, ()))


def test_pods_are_recorded_with_their_containers_and_scores_but_not_their_sandboxes(
    make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    node = replace(make_node(), sandboxes=True)
    pod = make_pod(make_container("a"), make_container("b"))
    [recorded] = recorded_pods(wanted_tree(node, [pod]))
    assert (recorded.uid, str(recorded)) == (pod.uid, "default/p1")
    assert [(each.name, each.oom_score_adj) for each in recorded.containers] == [("a", 1000), ("b", 1000)]
    assert all(each.path.startswith(f"{recorded.path}/") for each in recorded.containers)


def test_the_state_directory_is_one_that_strangers_cannot_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert str(state_directory()) == "/run/cgroup-engine"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    assert str(state_directory()) == "/run/user/1000/cgroup-engine"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr("tempfile.tempdir", None)
    assert str(state_directory()) == "/var/tmp/cgroup-engine-1000"
