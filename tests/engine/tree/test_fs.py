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


@pytest.fixture
def counting(root: Path) -> OsFs:
    """A root that was listed once, on a file system that counts a directory's directories in its links."""
    if root.stat().st_nlink != 4:
        pytest.skip("the links of directories are not counted here")
    fs = OsFs(str(root))
    fs.subdirectories("")
    return fs


def test_the_links_of_a_directory_tell_that_nothing_else_is_in_it(counting: OsFs, root: Path) -> None:
    assert counting.has_just("cpu,cpuacct", {"pod"})
    assert not counting.has_just("cpu,cpuacct", {"other"})
    assert not counting.has_just("cpu,cpuacct", {"pod", "other"})
    assert not counting.has_just("none", {"pod"})
    (root / "cpu,cpuacct" / "orphan").mkdir()
    assert not counting.has_just("cpu,cpuacct", {"pod"})
    assert counting.has_just("cpu,cpuacct", {"pod", "orphan"})


def test_links_are_not_believed_before_a_list_has_shown_that_they_are_counted(
    counting: OsFs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not OsFs(str(root)).has_just("cpu,cpuacct", {"pod"})

    def two_links(handle: int) -> os.stat_result:  # as lxcfs has it
        found = list(os.stat(handle))
        found[3] = 2
        return os.stat_result(found)

    monkeypatch.setattr(os, "fstat", two_links)
    counting.subdirectories("cpu,cpuacct")
    assert not counting.has_just("cpu,cpuacct", {"pod"})


@pytest.mark.hostile("a symbolic link in the place of a cgroup, with a directory beside it that nobody expects")
def test_a_link_is_none_of_the_directories_that_are_all_that_there_is(counting: OsFs, root: Path) -> None:
    (root / "memory" / "orphan").mkdir()
    os.symlink(root.parent / "outside" / "pod", root / "memory" / "pod")
    os.symlink("cpu,cpuacct", root / "cpu")
    assert not counting.has_just("memory", {"pod"})
    assert not counting.has_just("cpu", {"pod"})


@pytest.mark.parametrize("operation", ["write", "write_and_read"])
def test_a_linked_file_is_not_written(root: Path, operation: str) -> None:
    secret = root.parent / "outside" / "secret"
    secret.write_text("kept")
    os.symlink(secret, root / "memory" / "memory.max")
    with pytest.raises(OSError) as refused:
        getattr(OsFs(str(root)), operation)("memory/memory.max", "lost")
    assert refused.value.errno == ELOOP
    assert secret.read_text() == "kept"
