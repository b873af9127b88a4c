"""The found tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.apply import execute
from cgroup_engine.errors import RootError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.plan.steps import make_plan
from cgroup_engine.tree.found import FoundCgroup, FoundTree
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.knobs import KNOBS
from cgroup_engine.tree.layout import detect

from ..conftest import StubKernel


def _found(kernel: StubKernel | _Counted) -> FoundTree:
    return FoundTree(kernel, detect(kernel, "stub"))


def existing(kernel: StubKernel) -> FoundCgroup:
    """The cgroup kubepods."""
    cgroup = _found(kernel).get("kubepods")
    assert cgroup is not None
    return cgroup


def _shown(cgroup: FoundCgroup, version: int) -> set[str]:
    """The knobs that a cgroup has files of."""
    return {knob.field for knob in KNOBS[version] if cgroup.setting(knob) is not None}


def test_what_is_not_there_is_none(stub: type[StubKernel]) -> None:
    assert _found(stub(1)).get("kubepods") is None


def test_a_cgroup_in_one_hierarchy_alone_is_found_there(stub: type[StubKernel]) -> None:
    kernel = stub(1)
    kernel.mkdir("memory/kubepods")
    cgroup = existing(kernel)
    assert cgroup.hierarchies == {"memory"}
    assert _shown(cgroup, 1) == {"memory"}


def test_files_of_a_controller_that_is_not_enabled_are_not_found(stub: type[StubKernel]) -> None:
    kernel = stub(2)
    kernel.write("cgroup.subtree_control", "+cpu")
    kernel.mkdir("kubepods")
    assert _shown(existing(kernel), 2) == {"shares", "quota"}


def test_descendants_come_after_their_parents(stub: type[StubKernel]) -> None:
    kernel = stub(2)
    for path in ("kubepods", "kubepods/b", "kubepods/a", "kubepods/a/c"):
        kernel.mkdir(path)
    assert [cgroup.path for cgroup in _found(kernel).below("kubepods")] == [
        "kubepods", "kubepods/a", "kubepods/a/c", "kubepods/b",
    ]  # fmt: skip


def test_processes_of_every_hierarchy_count(stub: type[StubKernel]) -> None:
    kernel = stub(1)
    for tree, text in (("cpu", "7\n"), ("memory", "7\n9\n"), ("pids", "")):
        kernel.mkdir(f"{tree}/kubepods")
        kernel.files[f"{tree}/kubepods/cgroup.procs"] = text
    assert _found(kernel).processes("kubepods") == [7, 9]


def test_a_file_that_shows_no_number_is_said(stub: type[StubKernel]) -> None:
    kernel = stub(2)
    kernel.write("cgroup.subtree_control", "+memory")
    kernel.mkdir("kubepods")
    kernel.files["kubepods/memory.max"] = "lots"
    with pytest.raises(RootError, match=r"kubepods/memory\.max: shows .*lots"):
        _shown(existing(kernel), 2)


class _Counted:
    """A kernel that counts its calls."""

    def __init__(self, kernel: StubKernel) -> None:
        self.kernel = kernel
        self.asked: list[Any] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def ask(*arguments: str) -> Any:
            self.asked.append((name, arguments[0]))
            return getattr(self.kernel, name)(*arguments)

        return ask


@pytest.mark.parametrize("version", [1, 2])
def test_nothing_is_asked_of_what_is_not_there(
    stub: type[StubKernel], version: int, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    kernel = _Counted(stub(version))
    found, wanted = _found(kernel), wanted_tree(make_node(), [make_pod(n=n) for n in range(1, 4)])
    kernel.asked.clear()
    make_plan(wanted, found, "cgroupfs")
    assert not [path for _, path in kernel.asked if "kubepods" in path]


@pytest.mark.parametrize("version", [1, 2])
def test_each_file_and_each_directory_is_read_once(
    stub: type[StubKernel], version: int, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    wanted = wanted_tree(make_node(), [make_pod(n=n) for n in range(1, 4)])
    kernel = _Counted(stub(version))
    execute(make_plan(wanted, _found(kernel), "cgroupfs"), kernel.kernel)
    found = _found(kernel)
    kernel.asked.clear()
    assert make_plan(wanted, found, "cgroupfs").steps == ()
    assert {name for name, _ in kernel.asked} == {"read", "subdirectories"}
    assert len(set(kernel.asked)) == len(kernel.asked)


def test_an_unexpected_child_is_found_beside_the_expected_ones(tmp_path: Path) -> None:
    for name, text in {"cgroup.controllers": "cpu memory", "cgroup.procs": ""}.items():
        (tmp_path / name).write_text(text)
    for name in ("kubepods/a", "kubepods/b", "kubepods/c"):
        (tmp_path / name).mkdir(parents=True)
        fs = OsFs(str(tmp_path))
        found = FoundTree(fs, detect(fs, "root"))
        found.expect(["kubepods", "kubepods/a", "kubepods/b"])
        cgroup = found.get("kubepods")
        assert cgroup is not None
        assert cgroup.children == tuple(sorted(child.name for child in (tmp_path / "kubepods").iterdir()))


@pytest.mark.hostile("a symbolic link in the place of an interface file")
def test_a_link_in_the_place_of_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "kubepods").mkdir()
    for name, text in {"cgroup.controllers": "cpu memory", "cgroup.procs": ""}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "kubepods" / "cgroup.subtree_control").symlink_to("/etc/hostname")
    fs = OsFs(str(tmp_path))
    cgroup = FoundTree(fs, detect(fs, "root")).get("kubepods")
    assert cgroup is not None
    with pytest.raises(RootError) as refused:
        _ = cgroup.enabled
    link = "kubepods/cgroup.subtree_control"
    assert str(refused.value).startswith(f'{link}: cannot be read: "{link}" is a symbolic link; ')
