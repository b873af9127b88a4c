"""This machine's own hierarchies as a target, in cgroups made for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup_mount.conformance.target_host import HostTarget
from fakecgroup_mount.host.cgroup_mounts import hierarchies, unified

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or "pids" not in hierarchies() or not os.access(hierarchies()["pids"].point, os.W_OK),
    reason="takes root and a v1 hierarchy",
)


def left_out(*ops: tuple[object, ...], layout: str = "v1") -> list[str]:
    """Why each operation was left out, "" where it was not."""
    target = HostTarget(layout)
    reasons = []
    target.start(Case("host", layout, ops))
    try:
        for op in ops:
            try:
                target.do(op)
                reasons.append("")
            except UnsupportedError as reason:
                reasons.append(str(reason))
    finally:
        target.finish()
        target.close()
    return reasons


def test_a_case_runs_in_an_own_cgroup_that_is_removed() -> None:
    pids = hierarchies()["pids"].point
    target = HostTarget()
    ops = (("mkdir", "pids/a"), ("write", "pids/a/tasks", "0"))
    target.start(Case("host", "v1", ops))
    own = Path(os.readlink(Path(target._root) / "pids"))
    try:
        assert [target.do(op) for op in ops] == [(None, None), (None, None)]
        assert own.parent == pids
        assert (own / "a").is_dir()
    finally:
        target.finish()
        target.close()
    assert not own.exists()


def test_what_is_above_an_own_cgroup_is_left_out() -> None:
    ops = (("mkdir", "pids/../fcg-x"), ("mkdir", "pids/a/../../fcg-x"), ("read", "/etc/passwd"), ("rmdir", "pids"))
    assert all(left_out(*ops))


def test_a_file_of_the_root_is_left_out() -> None:
    assert all(left_out(("write", "pids/release_agent", "/x"), ("read", "pids/pids.max"), ("listdir", "pids")))


@pytest.mark.parametrize("text", ["1", " 1\n", "0x1", "01", "+1", "1\0x"])
def test_another_process_of_the_machine_is_not_moved(text: str) -> None:
    ops = (("mkdir", "pids/a"), ("write", "pids/a/tasks", text), ("write", "pids/a/cgroup.procs", text))
    assert left_out(*ops) == ["", "a process of the machine", "a process of the machine"]


needs_unified = pytest.mark.skipif(unified() is None, reason="takes the unified hierarchy")


@needs_unified
def test_a_case_of_the_unified_hierarchy_runs_in_an_own_cgroup_that_is_removed() -> None:
    target = HostTarget("v2")
    place = Path(target._root).parent
    ops = ("mkdir", "a"), ("write", "a/cgroup.procs", "0"), ("proc", "self", "cgroup"), ("write", "cgroup.procs", "0")
    target.start(Case("host", "v2", ops))
    try:
        assert [target.do(op) for op in ops] == [(None, None), (None, None), (None, "0::/a\n"), (None, None)]
        assert sorted(path.name for path in place.iterdir() if path.is_dir()) == ["home", "root"]
    finally:
        target.finish()
        target.close()
    assert not place.exists()


@needs_unified
def test_what_is_outside_of_the_unified_place_is_left_out() -> None:
    ops = ("mkdir", "../x"), ("read", "a/../../cgroup.procs"), ("read", "/etc/passwd"), ("mkdir", "a")
    assert left_out(*ops, layout="v2") == ["above the hierarchy"] * 2 + ["no hierarchy of this machine", ""]


@needs_unified
def test_another_process_of_the_machine_is_not_moved_in_the_unified_hierarchy() -> None:
    ops = ("mkdir", "a"), ("write", "a/cgroup.procs", "1"), ("write", "a/cgroup.threads", "1")
    assert left_out(*ops, layout="v2") == ["", "a process of the machine", "a process of the machine"]


@needs_unified
def test_a_process_has_a_place_in_v1_and_in_the_unified_hierarchy() -> None:
    target = HostTarget("hybrid")
    ops = (
        ("mkdir", "unified/a"),
        ("mkdir", "pids/p"),
        ("write", "unified/a/cgroup.procs", "0"),
        ("write", "pids/p/tasks", "0"),
        ("proc", "self", "cgroup"),
    )
    target.start(Case("host", "hybrid", ops))
    try:
        *before, (error, text) = [target.do(op) for op in ops]
        assert before == [(None, None)] * 4
        assert (error, sorted(line.partition(":")[2] for line in str(text).splitlines())) == (None, [":/a", "pids:/p"])
    finally:
        target.finish()
        target.close()


@needs_unified
def test_a_case_finds_nothing_of_the_one_before_in_the_place_of_the_roots_processes() -> None:
    target = HostTarget("v2")
    ops = ("access", "cgroup.procs", "W"), ("chmod", "cgroup.procs", "0000"), ("stat", "cgroup.procs")
    modes = []
    try:
        for _ in range(2):
            target.start(Case("host", "v2", (*ops, ("read", "cgroup.procs"))))
            try:
                modes.append([target.do(ops[2])[1]["mode"], target.do(ops[1]), target.do(ops[2])[1]["mode"]])
            finally:
                target.finish()
    finally:
        target.close()
    assert modes == [["0644", (None, None), "0000"]] * 2
