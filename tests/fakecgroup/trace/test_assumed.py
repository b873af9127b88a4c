"""A trace that begins in the middle of a tree's life begins with its state."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel, ProcessTable
from fakecgroup.trace.assumed import assumed_calls
from fakecgroup.trace.stage import Stage
from fakecgroup.trace.trace_file import head_of


def staged(kernel: Kernel) -> Kernel:
    """The tree that the calls make on a stage."""
    stage = Stage(head_of(kernel, "a test"), kernel.layout, kernel.personality.name)
    for call in assumed_calls(kernel):
        assert call.more["assumed"]
        stage.note(call) if call.is_note else stage.play(call)
    stage.settle_assumed()
    return stage.kernel


def texts(kernel: Kernel, directory: str) -> dict[str, str]:
    found = {}
    for name in kernel.listdir(directory):
        try:
            found[name] = kernel.read(f"{directory}/{name}")
        except OSError as error:
            found[name] = str(error.errno)
    return found


def test_a_new_tree_has_nothing_to_say() -> None:
    assert list(assumed_calls(Kernel())) == []


@pytest.mark.parametrize("version", ["5.10", "6.1", "6.12", "7.2"])
def test_settings_modes_owners_and_processes_come_back(version: str) -> None:
    table = ProcessTable()
    kernel = Kernel(kernel=version, processes=table, memory="1Gi")
    kernel.write("cgroup.subtree_control", "+cpu +memory +pids +cpuset +io")
    for name in ("a", "a/b", "t", "t/x"):
        kernel.mkdir(name, 0o750)
    kernel.write("a/cgroup.subtree_control", "+memory +pids")
    kernel.write("a/memory.max", "100M")
    kernel.write("a/b/memory.low", "10M")
    kernel.write("a/cpu.max", "50000 20000")
    kernel.write("a/cpuset.cpus", "0-1")
    kernel.write("a/cpuset.cpus.partition", "root")
    kernel.write("t/x/cgroup.type", "threaded")
    kernel.chown("a", 5, 6)
    kernel.chown("a/cgroup.procs", 5, 6)
    kernel.chmod("a/memory.max", 0o600)
    pid = table.add()
    kernel.write("a/b/cgroup.procs", str(pid))
    again = staged(kernel)
    for directory in (".", "a", "a/b", "t", "t/x"):
        now, then = texts(kernel, directory), texts(again, directory)
        differ = {name for name in now if now[name] != then[name]} - {"cgroup.procs", "cgroup.threads"}
        assert differ == set(), directory
    assert again.read("a/b/cgroup.procs") == f"{pid}\n"
    stat = again.stat("a")
    assert (stat.uid, stat.gid, stat.mode & 0o777) == (5, 6, 0o750)
    assert again.stat("a/memory.max").mode & 0o777 == 0o600


def test_hierarchies_of_v1_come_back() -> None:
    kernel = Kernel("v1", "6.1")
    for name in ("cpu/a", "memory/a", "cpuset/a", "freezer/a"):
        kernel.mkdir(name)
    kernel.write("cpu/a/cpu.shares", "2048")
    kernel.write("memory/a/memory.limit_in_bytes", "100M")
    kernel.write("cpuset/a/cpuset.cpus", "0-1")
    kernel.write("cpuset/a/cpuset.mems", "0")
    kernel.write("freezer/a/freezer.state", "FROZEN")
    again = staged(kernel)
    for directory in ("cpu/a", "memory/a", "cpuset/a", "freezer/a"):
        assert texts(kernel, directory) == texts(again, directory)
