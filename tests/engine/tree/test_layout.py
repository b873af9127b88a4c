"""The layout of a root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cgroup_engine.errors import RootError
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import detect


def _file(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _v1(root: Path, *trees: str) -> None:
    for tree in trees:
        _file(root / tree / "cgroup.procs")


def test_cgroup_controllers_in_the_root_is_v2(tmp_path: Path) -> None:
    _file(tmp_path / "cgroup.controllers", "cpuset cpu io memory pids\n")
    layout = detect(OsFs(str(tmp_path)), "root")
    assert (layout.name, layout.hierarchies, set(layout.hierarchy_of)) == (
        "v2",
        ("",),
        {"cpu", "cpuset", "memory", "pids"},
    )


def test_a_shared_cpu_hierarchy_is_found_by_its_own_name(tmp_path: Path) -> None:
    _v1(tmp_path, "cpu,cpuacct", "memory", "pids", "systemd", "cpuset")
    os.symlink("cpu,cpuacct", tmp_path / "cpu")
    os.symlink("cpu,cpuacct", tmp_path / "cpuacct")
    _file(tmp_path / "cpu,cpuacct" / "cpuacct.usage", "0\n")
    layout = detect(OsFs(str(tmp_path)), "root")
    assert layout.hierarchies == ("cpu,cpuacct", "memory", "pids", "cpuset", "systemd")
    assert layout.file("cpu", "kubepods", "cpu.shares") == "cpu,cpuacct/kubepods/cpu.shares"


def test_unified_beside_the_hierarchies_is_v1(tmp_path: Path) -> None:
    _v1(tmp_path, "cpu", "memory", "pids", "unified")
    _file(tmp_path / "unified" / "cgroup.controllers")
    layout = detect(OsFs(str(tmp_path)), "root")
    assert (layout.name, layout.hierarchies) == ("v1", ("cpu", "memory", "pids"))


def test_separate_cpu_and_cpuacct_are_two_trees(tmp_path: Path) -> None:
    _v1(tmp_path, "cpu", "cpuacct", "memory")
    assert detect(OsFs(str(tmp_path)), "root").hierarchies == ("cpu", "memory", "cpuacct")


def test_a_link_out_of_the_root_is_no_hierarchy(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    _v1(outside, "cpu")
    _v1(root, "memory")
    os.symlink(outside / "cpu", root / "cpu")
    with pytest.raises(RootError, match="lacks the cpu controller"):
        detect(OsFs(str(root)), "root")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "is no cgroup tree"),
        ({"x": "y"}, "is no cgroup tree"),
        ({"cgroup.controllers": "cpu pids\n"}, "lacks the memory controller"),
        ({"cpu/cgroup.procs": ""}, "lacks the memory controller"),
    ],
)
def test_a_root_that_will_not_do_is_said_in_one_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        _file(tmp_path / name, text)
    with pytest.raises(RootError, match=message):
        detect(OsFs(str(tmp_path)), "root")


def test_a_linked_cgroup_is_not_followed(tmp_path: Path) -> None:
    _file(tmp_path / "cgroup.controllers", "cpu memory pids\n")
    (tmp_path / "kubepods").mkdir()
    os.symlink("/etc", tmp_path / "kubepods" / "burstable")
    fs = OsFs(str(tmp_path))
    assert fs.is_dir("kubepods")
    assert not fs.is_dir("kubepods/burstable")
