"""Processes enter the cgroup of a container, in every hierarchy or in none."""

from __future__ import annotations

import os
import subprocess
from errno import ENOSPC, ESRCH
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.migration import check_process, hierarchies_of, migrate
from cgroup_engine.change.oom_score import set_oom_score_adj
from cgroup_engine.errors import CgroupMissingError, InputError, StepFailedError
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.tree.layout import Layout

LAYOUT = Layout(1, ("cpu,cpuacct", "memory"), {})


class Hierarchies(CgroupFs):
    """v1 hierarchies that know in which cgroup each process is. ``refuse``: path of a cgroup -> errno."""

    def __init__(self) -> None:
        trees = ("cpu,cpuacct", "memory", "freezer", "net_cls")
        self.there = {*trees, *(f"{tree}/pod" for tree in trees[:3]), "cpu", "cpu/pod", "memory/before"}
        self.where = dict.fromkeys(trees, "")
        self.refuse: dict[str, int] = {}
        self.log: list[Any] = []

    def mkdir(self, path: str) -> None:
        raise AssertionError("no process is entered by making a cgroup")

    rmdir = mkdir

    def listdir(self, path: str) -> list[str]:
        prefix = f"{path}/" if path else ""
        below = [each[len(prefix) :] for each in self.there if each.startswith(prefix) and each != path]
        return [name for name in below if "/" not in name]

    def is_dir(self, path: str) -> bool:
        return path in self.there

    def read(self, path: str) -> str:
        tree, _, cgroup = path.removesuffix("/cgroup.procs").partition("/")
        return "1\n7\n" if self.where[tree] == cgroup else "1\n"

    def write(self, path: str, data: str) -> None:
        tree, _, cgroup = path.removesuffix("/cgroup.procs").partition("/")
        if f"{tree}/{cgroup}" in self.refuse:
            raise OSError(self.refuse[f"{tree}/{cgroup}"], "refused")
        assert data == "7"
        self.where[tree] = cgroup
        self.log.append(path)


@pytest.fixture
def trees() -> Hierarchies:
    return Hierarchies()


def test_it_enters_every_hierarchy_that_has_the_cgroup_and_the_freezer_last(trees: Hierarchies, tmp_path: Path) -> None:
    assert hierarchies_of(trees, LAYOUT, "pod") == ["cpu,cpuacct", "memory", "freezer"]
    migrate(trees, LAYOUT, "pod", 7, tmp_path)
    assert trees.where == {"cpu,cpuacct": "pod", "memory": "pod", "freezer": "pod", "net_cls": ""}


def test_it_goes_back_where_it_was_if_one_hierarchy_refuses(trees: Hierarchies, tmp_path: Path) -> None:
    trees.where["memory"] = "before"
    trees.refuse["freezer/pod"] = ENOSPC
    with pytest.raises(StepFailedError) as refused:
        migrate(trees, LAYOUT, "pod", 7, tmp_path)
    assert trees.where == {"cpu,cpuacct": "", "memory": "before", "freezer": "", "net_cls": ""}
    assert refused.value.path == "freezer/pod/cgroup.procs"
    assert refused.value.errno == ENOSPC
    assert str(refused.value) == (
        "freezer/pod/cgroup.procs: process 7 cannot enter: ENOSPC; its cpuset has no CPUs or no memory nodes"
    )


def test_a_process_that_cannot_go_back_is_told_of(trees: Hierarchies, tmp_path: Path) -> None:
    trees.refuse = {"memory/pod": ESRCH, "cpu,cpuacct/": ESRCH}
    with pytest.raises(StepFailedError, match=r"ESRCH \(and it stays in cpu,cpuacct\); the process has ended"):
        migrate(trees, LAYOUT, "pod", 7, tmp_path)


def test_what_proc_says_is_looked_at_first(trees: Hierarchies, tmp_path: Path) -> None:
    trees.where["memory"] = "before"
    trees.refuse["freezer/pod"] = ENOSPC
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text("3:memory:/before\n2:cpu,cpuacct:/elsewhere\n1:name=systemd:/x\n0::/y\n")
    with pytest.raises(StepFailedError):
        migrate(trees, LAYOUT, "pod", 7, tmp_path)
    assert (trees.where["memory"], trees.where["cpu,cpuacct"]) == ("before", "")


def test_a_cgroup_that_is_not_in_every_hierarchy_is_not_entered(trees: Hierarchies, tmp_path: Path) -> None:
    trees.there.remove("memory/pod")
    with pytest.raises(CgroupMissingError, match="memory/pod: is not there; apply makes it"):
        migrate(trees, LAYOUT, "pod", 7, tmp_path)
    assert trees.log == []


def test_kernel_threads_and_processes_that_are_gone_are_refused() -> None:
    check_process(os.getpid())
    with pytest.raises(InputError, match="4194304: there is no such process"):
        check_process(4194304)


def test_a_thread_of_the_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "stat").write_text("2 (kthreadd (x) y) S 0 0 0 0 -1 2129984 0 0\n")
    with pytest.raises(InputError, match="2: is a thread of the kernel"):
        check_process(2, tmp_path)


def test_oom_score_adj_is_raised_and_what_is_refused_is_a_line() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            assert set_oom_score_adj(sleeper.pid, 900) == ""
            with open(f"/proc/{sleeper.pid}/oom_score_adj", encoding="ascii") as file:
                assert file.read() == "900\n"
            assert "5000 was refused: EINVAL" in set_oom_score_adj(sleeper.pid, 5000)
        finally:
            sleeper.kill()
