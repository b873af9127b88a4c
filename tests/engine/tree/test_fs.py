"""The operating system's files below a root."""

from __future__ import annotations

import os
from errno import ELOOP
from pathlib import Path

import pytest

from cgroup_engine.tree.fs import OsFs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in ("root/cpu,cpuacct/pod", "root/memory", "outside/pod"):
        (tmp_path / path).mkdir(parents=True)
    return tmp_path / "root"


def test_a_text_of_many_pages_is_read_to_its_end(root: Path) -> None:
    text = "".join(f"{pid}\n" for pid in range(100_000))
    (root / "memory" / "cgroup.procs").write_text(text)
    assert OsFs(str(root)).read("memory/cgroup.procs") == text


def test_a_write_is_read_back_from_the_beginning(root: Path) -> None:
    (root / "memory" / "x").write_text("100")
    assert OsFs(str(root)).write_and_read("memory/x", "2") == "200"


def test_a_link_directly_below_the_root_is_a_hierarchy_if_it_leads_to_one(root: Path) -> None:
    os.symlink("cpu,cpuacct", root / "cpu")
    os.symlink("../outside", root / "pids")
    assert sorted(OsFs(str(root)).subdirectories("")) == ["cpu", "cpu,cpuacct", "memory"]


def test_a_link_further_down_is_no_cgroup(root: Path) -> None:
    os.symlink(root.parent / "outside" / "pod", root / "memory" / "pod")
    (root / "memory" / "file").write_text("")
    assert OsFs(str(root)).subdirectories("memory") == []
    assert OsFs(str(root)).subdirectories("cpu,cpuacct") == ["pod"]


@pytest.mark.parametrize("operation", ["write", "write_and_read"])
def test_a_linked_file_is_not_written(root: Path, operation: str) -> None:
    secret = root.parent / "outside" / "secret"
    secret.write_text("kept")
    os.symlink(secret, root / "memory" / "memory.max")
    with pytest.raises(OSError) as refused:
        getattr(OsFs(str(root)), operation)("memory/memory.max", "lost")
    assert refused.value.errno == ELOOP
    assert secret.read_text() == "kept"
