"""This machine's own v1 hierarchies as a target."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup_mount.conformance.target_host import HostTarget, hierarchies

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or "pids" not in hierarchies() or not os.access(hierarchies()["pids"], os.W_OK),
    reason="takes root and a v1 hierarchy",
)


def left_out(*ops: tuple[object, ...]) -> list[str]:
    """Why each operation was left out, "" where it was not."""
    target = HostTarget()
    reasons = []
    target.start(Case("host", "v1", ops))
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
    pids = hierarchies()["pids"]
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
