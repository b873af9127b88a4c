"""`fakecgroup list`: which trees are mounted, whoever answers for them."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
from collections.abc import Callable
from datetime import datetime, timezone
from errno import EACCES, ENODEV, ENOENT
from pathlib import Path
from typing import Any

import pytest

from fakecgroup_mount.cli import list as list_command
from fakecgroup_mount.fuse import mounted_trees
from fakecgroup_mount.fuse.about import TreeFacts
from fakecgroup_mount.fuse.mounted_trees import MountedTree
from fakecgroup_mount.host.mountinfo import FSTYPE, SOURCE
from fakecgroup_mount.host.mountinfo import Mount as Line

from ..waiting import wait_until
from .conftest import Mount, daemon_of, is_alive, needs_fuse, needs_root, run
from .test_stopped import stopped


def listed(tree: Path) -> dict[str, Any]:
    """The row of a tree."""
    done = run("list", "-o", "json", timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = (row for row in json.loads(done.stdout)["mounts"] if row["dir"] == str(tree))
    return dict(row)


@needs_fuse
def test_a_tree_that_serves_is_told_with_what_it_is(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport, layout="v1", kernel="5.10")
    row = listed(tree)
    since = datetime.fromisoformat(row.pop("since"))
    assert row == {
        "dir": str(tree),
        "state": "serves",
        "pid": daemon_of(tree),
        "layout": "v1",
        "kernel": "5.10",
        "transport": transport,
        "cgroups": 0,
        "todo": None,
    }
    assert since <= datetime.now(timezone.utc)


@needs_fuse
def test_the_cgroups_of_all_hierarchies_are_counted(mount: Mount) -> None:
    tree = mount(layout="v1")
    (tree / "cpu" / "a" / "b").mkdir(parents=True)
    (tree / "pids" / "a").mkdir()
    assert listed(tree)["cgroups"] == 3


@needs_fuse
def test_a_dead_mount_is_told_with_what_takes_it_away(mount: Mount) -> None:
    tree = mount()
    pid = daemon_of(tree)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid))
    row = listed(tree)
    assert (row["state"], row["pid"], row["layout"], row["cgroups"]) == ("dead", None, None, None)
    assert row["todo"] == f"its daemon has ended: fakecgroup umount {tree} takes the mount away"


@needs_fuse
def test_a_stopped_daemon_is_named_with_what_to_do(mount: Mount) -> None:
    tree = mount()
    pid = daemon_of(tree)
    with stopped(pid):
        row = listed(tree)
    assert (row["state"], row["pid"]) == ("stopped", pid)
    assert f"kill -CONT {pid} lets it go on" in row["todo"]
    assert f"fakecgroup umount --force {tree} ends it" in row["todo"]


@needs_fuse
@needs_root
def test_a_tree_below_another_mount_is_covered(mount: Mount) -> None:
    tree = mount()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(tree)], check=True)
    try:
        assert listed(tree)["state"] == "covered"
    finally:
        subprocess.run(["umount", str(tree)], check=True)
    assert listed(tree)["state"] == "serves"


@needs_fuse
def test_the_attribute_that_tells_it_is_not_listed(mount: Mount, transport: str) -> None:
    tree = mount(transport=transport)
    assert os.getxattr(tree, "user.fakecgroup.tree")
    assert os.listxattr(tree) == []


def one_mount(point: str) -> list[Line]:
    return [Line(40, 20, "0:42", point, FSTYPE, SOURCE)]


@pytest.mark.parametrize(
    ("errno", "state"),
    [(EACCES, mounted_trees.PRIVATE), (ENOENT, mounted_trees.COVERED), (ENODEV, mounted_trees.SILENT)],
)
def test_a_mount_that_refuses_is_told_by_its_refusal(errno: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(point: str) -> bytes:
        raise OSError(errno, os.strerror(errno))

    monkeypatch.setattr(mounted_trees, "mounts", lambda: one_mount("/none"))
    monkeypatch.setattr(mounted_trees, "_ask", refuse)
    assert mounted_trees.mounted_trees() == [MountedTree("/none", state)]


def test_nobody_waits_long_for_daemons_that_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_for_ever(point: str) -> bytes:
        signal.pause()
        raise AssertionError

    monkeypatch.setattr(mounted_trees, "mounts", lambda: [one_mount(f"/none/{number}")[0] for number in range(5)])
    monkeypatch.setattr(mounted_trees, "_ask", wait_for_ever)
    monkeypatch.setattr(mounted_trees, "_AT_ONCE", 0.0)
    monkeypatch.setattr(mounted_trees, "_PATIENCE", 0.1)
    assert [tree.state for tree in mounted_trees.mounted_trees()] == [mounted_trees.SILENT] * 5


def printed(trees: list[MountedTree], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The table of these trees."""
    monkeypatch.setattr(mounted_trees, "mounted_trees", lambda: trees)
    assert list_command.run(argparse.Namespace(output="table")) == 0
    return capsys.readouterr().out


def test_no_trees_are_told_in_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed([], monkeypatch, capsys) == "no trees are mounted here\n"


def test_a_table_has_a_line_for_each_tree_and_what_to_do_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = TreeFacts("v2", "6.12", "native", 3)
    trees = [MountedTree("/a", "serves", 4711, None, facts), MountedTree("/with space", "dead")]
    assert printed(trees, monkeypatch, capsys).splitlines() == [
        "DIR          STATE   DAEMON  LAYOUT  KERNEL  TRANSPORT  SINCE  CGROUPS",
        "/a           serves  4711    v2      6.12    native     -      3",
        "/with space  dead    -       -       -       -          -      -",
        "/with space: its daemon has ended: fakecgroup umount '/with space' takes the mount away",
    ]


@pytest.mark.parametrize(
    "make",
    [lambda: MountedTree("/a\nb", "serves"), lambda: MountedTree("/a\x1b[31m", "dead")],
    ids=["newline", "escape"],
)
def test_a_path_cannot_write_into_the_table(
    make: Callable[[], MountedTree], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, row, *_ = printed([make()], monkeypatch, capsys).splitlines()
    assert row.startswith("$'/a\\0")
    assert "\x1b" not in row
