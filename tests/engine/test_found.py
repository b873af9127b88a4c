"""The found tree."""

from __future__ import annotations

import pytest

from engine.errors import RootError
from engine.found import FoundTree
from engine.knobs import KNOBS
from engine.layout import detect


def _found(kernel):
    return FoundTree(kernel, detect(kernel, "stub"))


def _shown(cgroup, version):
    """The knobs that a cgroup has files of."""
    return {knob.field for knob in KNOBS[version] if cgroup.setting(knob) is not None}


def test_what_is_not_there_is_none(stub):
    assert _found(stub(1)).get("kubepods") is None


def test_a_cgroup_in_one_hierarchy_alone_is_found_there(stub):
    kernel = stub(1)
    kernel.mkdir("memory/kubepods")
    cgroup = _found(kernel).get("kubepods")
    assert cgroup.trees == {"memory"}
    assert _shown(cgroup, 1) == {"memory"}


def test_files_of_a_controller_that_is_not_enabled_are_not_found(stub):
    kernel = stub(2)
    kernel.write("cgroup.subtree_control", "+cpu")
    kernel.mkdir("kubepods")
    assert _shown(_found(kernel).get("kubepods"), 2) == {"shares", "quota"}


def test_descendants_come_after_their_parents(stub):
    kernel = stub(2)
    for path in ("kubepods", "kubepods/b", "kubepods/a", "kubepods/a/c"):
        kernel.mkdir(path)
    assert [cgroup.path for cgroup in _found(kernel).below("kubepods")] == [
        "kubepods", "kubepods/a", "kubepods/a/c", "kubepods/b",
    ]  # fmt: skip


def test_processes_of_every_hierarchy_count(stub):
    kernel = stub(1)
    for tree, text in (("cpu", "7\n"), ("memory", "7\n9\n"), ("pids", "")):
        kernel.mkdir(f"{tree}/kubepods")
        kernel.files[f"{tree}/kubepods/cgroup.procs"] = text
    assert _found(kernel).processes("kubepods") == [7, 9]


def test_a_file_that_shows_no_number_is_said(stub):
    kernel = stub(2)
    kernel.write("cgroup.subtree_control", "+memory")
    kernel.mkdir("kubepods")
    kernel.files["kubepods/memory.max"] = "lots"
    with pytest.raises(RootError, match=r"kubepods/memory\.max: shows .*lots"):
        _shown(_found(kernel).get("kubepods"), 2)
