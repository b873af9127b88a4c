"""A tree that is restored from what its files have shown reads the same, and judges writes as ever."""

from __future__ import annotations

import os
from dataclasses import replace
from errno import EBUSY, EINVAL
from pathlib import Path

import pytest

from fakecgroup import Kernel, Workload, personalities
from fakecgroup.snapshot import Snapshot, SnapshotError, compare, of_kernel, restore
from fakecgroup.snapshot.content import NODE, Attributes, SeenFile, SeenKernel
from fakecgroup.tasks.tid import FIRST_SIMULATED

from .busy import busy_kernel, tops

PAIRS = personalities()


def seen_on_a_node(kernel: Kernel, release: str = "") -> Snapshot:
    """The snapshot of a kernel as if it were a node's: no state of the model, a release instead of a personality."""
    snapshot = of_kernel(kernel)
    release = release or f"{kernel.personality.name}.0-test"
    return replace(snapshot, origin=NODE, kernel=SeenKernel(release, kernel.personality.config), state=[])


@pytest.mark.parametrize(("layout", "version"), PAIRS)
def test_every_file_reads_as_on_the_node(layout: str, version: str) -> None:
    before = seen_on_a_node(busy_kernel(layout, version))
    restored = restore(before)
    assert compare(before, of_kernel(restored)) == []
    assert restored.differs == ()
    assert restored.restored


@pytest.mark.parametrize("layout", ["v2", "v1", "hybrid"])
def test_time_stands_still_until_it_is_advanced_and_then_counts_go_on(layout: str) -> None:
    before = seen_on_a_node(busy_kernel(layout, "6.1"))
    restored = restore(before)
    file = "/app/web/memory.stat" if layout == "v2" else "/memory/app/web/memory.stat"
    shown = restored.read(file)
    restored.advance(10)
    assert restored.read(file) == shown
    (top,) = [top for top in tops(restored) if top in ("", "/cpu,cpuacct")]
    usage = f"{top}/app/web/cpu.stat" if layout == "v2" else f"{top}/app/web/cpuacct.usage"
    used = int(restored.read(usage).split()[1 if layout == "v2" else 0])
    restored.spawn([f"{top}/app/web" for top in tops(restored)], Workload([{"for": "10s", "cpu": 0.3}]))
    restored.advance(10)
    grown = int(restored.read(usage).split()[1 if layout == "v2" else 0]) - used
    assert grown == pytest.approx(3 * (1e6 if layout == "v2" else 1e9), rel=0.01)


def test_processes_are_simulated_above_all_pids_of_a_machine() -> None:
    restored = restore(seen_on_a_node(busy_kernel("v2", "6.12")))
    pids = [int(line) for line in restored.read("/app/web/cgroup.procs").splitlines()]
    assert len(pids) == 2
    assert min(pids) >= FIRST_SIMULATED
    task = restored.simulated_task(pids[0])
    assert task is not None
    assert (task.name, task.threads) == ("work", 2)
    assert task.cpu.run > 0


def test_the_memory_of_a_process_is_freed_when_it_is_killed() -> None:
    restored = restore(seen_on_a_node(busy_kernel("v2", "6.12")))
    before = int(restored.read("/app/web/memory.current"))
    restored.write("/app/web/cgroup.kill", "1")
    restored.advance(1)
    assert restored.read("/app/web/cgroup.procs") == ""
    assert int(restored.read("/app/web/memory.current")) < before / 4


def test_a_limit_below_the_use_kills_as_ever() -> None:
    restored = restore(seen_on_a_node(busy_kernel("v2", "6.12")))
    restored.write("/app/web/memory.swap.max", "0")
    restored.write("/app/web/memory.max", "1M")
    assert "oom_kill 2" in restored.read("/app/web/memory.events")


def test_a_limit_below_the_use_is_refused_on_v1() -> None:
    restored = restore(seen_on_a_node(busy_kernel("v1", "6.1")))
    restored.advance(0)
    with pytest.raises(OSError) as refused:
        restored.write("/cpuset/app/cpuset.cpus", "0")
    assert refused.value.errno == EBUSY
    with pytest.raises(OSError) as refused:
        restored.write("/memory/app/web/memory.limit_in_bytes", "600M")
    assert refused.value.errno == EINVAL


def test_a_release_agent_is_shown_and_never_run() -> None:
    node = busy_kernel("v1", "6.1")
    restored = restore(seen_on_a_node(node))
    runs: list[str] = []
    restored.on_release = lambda agent, path, setter: runs.append(agent)
    assert restored.read("/cpuset/release_agent") == "/sbin/agent\n"
    restored.mkdir("/cpuset/idle/below")
    restored.rmdir("/cpuset/idle/below")
    assert runs == []
    restored.write("/cpuset/release_agent", "/own/agent")
    restored.mkdir("/cpuset/idle/below")
    restored.rmdir("/cpuset/idle/below")
    assert runs == ["/own/agent"]


def test_a_counter_that_is_reset_begins_anew() -> None:
    before = seen_on_a_node(busy_kernel("v1", "6.1"))
    restored = restore(before)
    top = "/cpu,cpuacct/app/web"
    assert int(restored.read(f"{top}/cpuacct.usage")) > 0
    restored.write(f"{top}/cpuacct.usage", "0")
    assert restored.read(f"{top}/cpuacct.usage") == "0\n"
    assert restored.read(f"{top}/cpuacct.usage_percpu") == "0 0 0 0 \n"


def test_pressure_decays_from_what_it_was() -> None:
    restored = restore(seen_on_a_node(busy_kernel("v2", "6.12")))
    before = float(restored.read("/app/web/cpu.pressure").partition("avg10=")[2].split()[0])
    restored.advance(10)
    after = float(restored.read("/app/web/cpu.pressure").partition("avg10=")[2].split()[0])
    assert 0 < after < before / 2


def test_files_that_the_model_does_not_know_are_told_in_one_line() -> None:
    before = seen_on_a_node(busy_kernel("v2", "6.12"))
    for _, cgroup in before.cgroups():
        for name in ("io.bfq.weight", "new.file"):
            cgroup.files[name] = SeenFile(b"default 100\n", "", Attributes(0o644))
    restored = restore(before)
    assert restored.differs == (
        "files that kernel 6.12.0-test of the model does not have in 4 cgroups, first /: io.bfq.weight, new.file",
    )


def test_a_setting_that_the_kernel_refuses_is_told() -> None:
    before = seen_on_a_node(busy_kernel("v2", "6.12"))
    (web,) = [cgroup for _, cgroup in before.cgroups() if cgroup.path == "/app/web"]
    web.files["pids.max"] = replace(web.files["pids.max"], data=b"lots\n")
    assert restore(before).differs == (r"pids.max reads otherwise in /app/web: 'max\n', was 'lots\n'",)


def test_rules_of_a_version_between_two_known_ones_are_played() -> None:
    restored = restore(seen_on_a_node(busy_kernel("v2", "6.12"), "6.15.3-talos"))
    assert restored.personality.version == (6, 15)
    assert restored.differs == ("kernel 6.15.3-talos is none of the known ones: the rules of 6.12 are played",)


@pytest.mark.parametrize(("release", "version"), [("4.18.0-553.el8", (5, 10)), ("9.1", (7, 2))])
def test_rules_of_the_nearest_kernel_are_played(release: str, version: tuple[int, int]) -> None:
    restored = restore(seen_on_a_node(busy_kernel("v2", "6.12"), release))
    assert restored.personality.version == version
    assert "is none of the known ones" in restored.differs[0]


def test_another_kernel_may_be_played() -> None:
    restored = restore(seen_on_a_node(busy_kernel("v2", "6.12")), "5.10")
    assert restored.personality.name == "5.10"
    assert restored.read("/app/pids.max") == "77\n"
    assert any(line.startswith("files that kernel 5.10 of the model does not have") for line in restored.differs)


def test_another_kernel_must_have_the_layout() -> None:
    with pytest.raises(ValueError, match=r"^no kernel '6\.18' for layout v2"):
        restore(seen_on_a_node(busy_kernel("v2", "6.12")), "6.18")


def test_hierarchies_are_mounted_as_on_the_node() -> None:
    node = busy_kernel("v1", "6.1")
    before = seen_on_a_node(node)
    (together,) = [one for one in before.hierarchies if one.directory == "cpu,cpuacct"]
    together.directory, together.links = "both", ("cpu", "cpuacct", "c")
    restored = restore(before)
    assert {"both", "cpu", "cpuacct", "c"} <= set(restored.listdir("/"))
    assert restored.read("/c/app/web/cpu.shares") == "512\n"
    assert restored.differs == ()


def test_a_controller_that_the_model_does_not_have_is_told() -> None:
    before = seen_on_a_node(busy_kernel("v1", "6.1"))
    (pids,) = [one for one in before.hierarchies if one.directory == "pids"]
    pids.controllers = ("debug",)
    restored = restore(before)
    assert "pids" not in restored.listdir("/")
    assert restored.differs[0] == "v1 controllers that the model does not have: debug"
    assert restored.differs[1] == "cgroups that are not there: 4, first /pids"


def test_cgroups_whose_names_are_taken_are_told() -> None:
    before = seen_on_a_node(busy_kernel("v2", "6.12"))
    (idle,) = [cgroup for _, cgroup in before.cgroups() if cgroup.path == "/idle"]
    idle.path = "/cpu.stat"
    assert "cgroups that are not there: 1, first /cpu.stat" in restore(before).differs


def test_a_kernel_writes_a_file_that_a_kernel_is_restored_from(tmp_path: Path) -> None:
    node = busy_kernel("v2", "6.12")
    node.snapshot(tmp_path / "node.cgs")
    restored = Kernel.restore(tmp_path / "node.cgs")
    assert compare(of_kernel(node), of_kernel(restored)) == []


def test_a_file_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"none\.cgs: No such file or directory$"):
        Kernel.restore(tmp_path / "none.cgs")


@pytest.mark.hostile("a directory, a pipe and a device in place of a snapshot")
@pytest.mark.parametrize("what", ["directory", "pipe", "/dev/zero"])
def test_what_is_no_file_is_told_in_one_line(what: str, tmp_path: Path) -> None:
    path = tmp_path / what
    if what == "directory":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    with pytest.raises(SnapshotError, match=r"is no file with a snapshot$"):
        Kernel.restore(path)


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
def test_an_invalid_partition_is_one_with_its_reason(version: str) -> None:
    node = Kernel("v2", version, cpus=4)
    node.write("/cgroup.subtree_control", "+cpuset")
    for name, cpus in (("empty", ""), ("lost", "0-1"), ("valid", "2")):
        node.mkdir(f"/{name}")
        node.write(f"/{name}/cpuset.cpus", cpus)
        node.write(f"/{name}/cpuset.cpus.partition", "root")
    node.write("/lost/cpuset.cpus", "0-3")  # with which it is not exclusive
    texts = [node.read(f"/{name}/cpuset.cpus.partition") for name in ("empty", "lost", "valid")]
    assert "invalid (" in texts[0]
    restored = restore(seen_on_a_node(node))
    assert restored.differs == ()
    assert [restored.read(f"/{name}/cpuset.cpus.partition") for name in ("empty", "lost", "valid")] == texts
    for kernel in (node, restored):
        kernel.write("/empty/cpuset.cpus", "3")
    assert restored.read("/empty/cpuset.cpus.partition") == node.read("/empty/cpuset.cpus.partition")
