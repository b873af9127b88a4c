"""Simulated processes in the tree of the fixture `cgroupfs`."""

from __future__ import annotations

import os
import select
import threading
from errno import EBUSY
from pathlib import Path

import pytest

from fakecgroup import Kernel, Workload
from fakecgroup.faults import FaultError
from fakecgroup.trace.files import replay_file
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.testing.factory import CgroupfsFactory
from fakecgroup_mount.testing.tree import CgroupTree

from ..conftest import needs_fuse, needs_root, run
from ..test_inotify import events, inotify, watch

__all__ = ["inotify"]

pytestmark = needs_fuse

BURSTS = Workload([{"run": "30ms"}, {"sleep": "900ms"}], loop="forever")
BUSY = Workload([{"for": "1h", "cpu": 1}])


@pytest.fixture
def group(cgroupfs: CgroupTree) -> Path:
    (cgroupfs / "cgroup.subtree_control").write_text("+cpu +memory +pids")
    (cgroupfs / "app").mkdir()
    return cgroupfs / "app"


def number(file: Path, key: str) -> int:
    return next(int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[0] == key)


def test_a_fifth_of_a_cpu_is_not_enough_for_30_ms_of_work(cgroupfs: CgroupTree, group: Path) -> None:
    (group / "cpu.max").write_text("20000 100000")
    cgroupfs.spawn("/app", BURSTS)
    cgroupfs.advance(8)
    assert number(group / "cpu.stat", "nr_throttled") == 8


def test_no_time_passes_but_for_what_it_is_advanced_by(cgroupfs: CgroupTree, group: Path) -> None:
    cgroupfs.spawn(group, BUSY)
    assert number(group / "cpu.stat", "usage_usec") == 0
    cgroupfs.advance(0.25)
    assert [number(group / "cpu.stat", "usage_usec") for _ in range(2)] == [250_000, 250_000]


def everything(group: Path) -> dict[str, str]:
    """The text of each file that can be read."""
    return {path.name: path.read_text() for path in group.iterdir() if path.stat().st_mode & 0o400}


def test_all_files_are_the_same_each_time(cgroupfs_factory: CgroupfsFactory) -> None:
    trees = [cgroupfs_factory.mount(cpus=2, memory="1Gi", kernel="6.12") for _ in range(2)]
    seen = []
    for tree in trees:
        (tree / "cgroup.subtree_control").write_text("+cpu +memory")
        for name in ("a", "b"):
            (tree / name).mkdir()
        (tree / "a/cpu.max").write_text("20000 100000")
        (tree / "b/memory.high").write_text("64M")
        tree.spawn("/a", BURSTS)
        tree.spawn("/b", Workload([{"for": "20s", "cpu": 2, "memory": {"start": "32Mi", "grow": "8Mi/s"}}]))
        tree.advance(13.7)
        seen.append([everything(tree / name) for name in ("a", "b")])
    cgroupfs_factory.umount(*trees)
    assert seen[0] == seen[1]
    assert "total=0" not in seen[0][1]["memory.pressure"]


def test_a_poller_is_woken_when_a_process_exits_in_time(cgroupfs: CgroupTree, group: Path) -> None:
    cgroupfs.spawn(group, Workload([{"for": "60s", "cpu": 1}]))
    with (group / "cgroup.events").open("rb", buffering=0) as file:
        file.read()
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        woken: list[object] = []
        waiting = threading.Thread(target=lambda: woken.extend(poller.poll(30_000)))
        waiting.start()
        cgroupfs.advance(61)
        waiting.join()
        assert woken
        assert b"populated 0" in os.pread(file.fileno(), 100, 0)


def test_inotify_tells_of_a_kill(cgroupfs: CgroupTree, group: Path, inotify: int) -> None:
    (group / "memory.max").write_text("64M")
    (pid,) = cgroupfs.spawn(group, Workload([{"for": "60s", "memory": {"grow": "32Mi/s"}}], name="leak"))
    watch(inotify, group / "memory.events")
    cgroupfs.advance(1)
    assert not cgroupfs.kills
    cgroupfs.advance(9)
    assert events(inotify, patience=30)
    assert [(kill.pid, kill.workload, kill.cgroups) for kill in cgroupfs.kills] == [(pid, "leak", ("/app",))]


@needs_root
def test_a_trigger_on_pressure_wakes_its_poller(cgroupfs: CgroupTree, group: Path) -> None:
    (group / "cpu.max").write_text("20000 100000")
    trigger = os.open(group / "cpu.pressure", os.O_RDWR)
    try:
        os.write(trigger, b"some 150000 1000000")
        poller = select.poll()
        poller.register(trigger, select.POLLPRI)
        cgroupfs.spawn(group, BUSY)
        cgroupfs.advance(0.1)
        assert poller.poll(0) == []
        cgroupfs.advance(0.9)
        assert poller.poll(30_000) == [(trigger, select.POLLPRI)]
    finally:
        os.close(trigger)


def test_what_a_kernel_refuses_is_its_errno(cgroupfs: CgroupTree, group: Path) -> None:
    (group / "cgroup.subtree_control").write_text("+memory")
    (group / "below").mkdir()
    with pytest.raises(OSError, match="busy") as refused:
        cgroupfs.spawn("/app", BUSY)
    assert refused.value.errno == EBUSY
    with pytest.raises(FileNotFoundError):
        cgroupfs.spawn("/nowhere", BUSY)
    assert (group / "below/cgroup.procs").read_text() == ""


def test_what_is_wrong_in_itself_is_a_value_error(cgroupfs: CgroupTree, group: Path) -> None:
    with pytest.raises(ValueError, match="is not in the subpath"):
        cgroupfs.spawn(Path("/tmp"), BUSY)
    with pytest.raises(ValueError, match="no block device 8:0"):
        cgroupfs.spawn(group, Workload([{"for": 1, "io": {"device": "8:0", "read": "1Mi/s"}}]))
    with pytest.raises(ValueError, match="no time that can pass"):
        cgroupfs.advance(-1)


@pytest.mark.cgroupfs(layout="v1", kernel="6.1")
def test_on_v1_it_starts_in_a_cgroup_of_each_hierarchy(cgroupfs: CgroupTree) -> None:
    for hierarchy in ("cpu", "memory"):
        (cgroupfs / hierarchy / "app").mkdir()
    (cgroupfs / "cpu/app/cpu.cfs_quota_us").write_text("20000")
    cgroupfs.spawn(["/cpu/app", cgroupfs / "memory/app"], Workload([{"for": "1m", "cpu": 1, "memory": "8Mi"}]))
    cgroupfs.advance(10)
    assert number(cgroupfs / "cpu/app/cpu.stat", "nr_throttled") == 100
    assert (cgroupfs / "memory/app/memory.usage_in_bytes").read_text() == f"{(8 << 20) + 5 * 4096}\n"  # and page tables


def test_a_scenario_of_ctl_goes_by_the_same_time(cgroupfs: CgroupTree) -> None:
    text = """
cgroups: {app: {cpu.max: "50000 100000"}}
workloads: [{cgroup: app, loop: forever, phases: [{for: 1h, cpu: 1}]}]
at: [{time: 10s, write: {app/cpu.max: max}}]
"""
    assert run("ctl", cgroupfs, "workload", "add", "-", input=text, stdin=None).stderr == ""
    cgroupfs.advance(9)
    assert (cgroupfs / "app/cpu.max").read_text() == "50000 100000\n"
    cgroupfs.advance(11)
    assert (cgroupfs / "app/cpu.max").read_text() == "max 100000\n"
    assert number(cgroupfs / "app/cpu.stat", "usage_usec") == pytest.approx(15_000_000, rel=0.01)


def test_a_path_in_the_tree_is_a_path_and_nothing_more(cgroupfs: CgroupTree, group: Path) -> None:
    with pytest.raises(ValueError, match="is no tree of the fixture cgroupfs"):
        (cgroupfs / "app").advance(1)


def test_the_model_and_the_mounted_tree_say_the_same(cgroupfs: CgroupTree, group: Path, cgroup_kernel: Kernel) -> None:
    cgroup_kernel.write("/cgroup.subtree_control", "+cpu +memory +pids")
    cgroup_kernel.mkdir("/app")
    for place in (cgroupfs, cgroup_kernel):
        place.spawn("/app", BURSTS)
        place.advance(5)
    for name in ("cpu.stat", "cpu.pressure", "memory.current"):
        assert (group / name).read_text() == cgroup_kernel.read(f"/app/{name}")


# -- faults -----------------------------------------------------------------------------------------


def test_a_fault_fails_once_and_tells_of_it(cgroupfs: CgroupTree, group: Path) -> None:
    fault = cgroupfs.fault("write */memory.max = 1*error(ENOMEM)->off")
    with pytest.raises(OSError):
        (group / "memory.max").write_text("64M")
    (group / "memory.max").write_text("64M")
    assert (group / "memory.max").read_text() == "67108864\n"
    assert fault.fired == 1
    assert [(one.op, one.path, one.what, one.pid) for one in fault.firings] == [
        ("write", "app/memory.max", "error ENOMEM", os.getpid())
    ]


def test_a_fault_ends_with_its_block(cgroupfs: CgroupTree, group: Path) -> None:
    with cgroupfs.fault("mkdir app/* = error(ENOMEM)") as fault, pytest.raises(OSError):
        (group / "below").mkdir()
    (group / "below").mkdir()
    assert fault.fired == 1
    fault.remove()


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("write */memory.max", "="),
        ("write */no.file = error(EBUSY)", "never match"),
        ("write */pids.max = error(EBUSY)", "EBUSY"),
    ],
)
def test_a_rule_that_the_kernel_cannot_have_is_refused(cgroupfs: CgroupTree, rule: str, why: str) -> None:
    with pytest.raises(FaultError, match=why):
        cgroupfs.fault(rule)


def test_any_errno_takes_what_the_kernel_does_not_give(cgroupfs: CgroupTree, group: Path) -> None:
    cgroupfs.fault("write */pids.max = error(EBUSY)", any_errno=True)
    with pytest.raises(OSError) as refused:
        (group / "pids.max").write_text("7")
    assert refused.value.errno == EBUSY


# -- traces ---------------------------------------------------------------------------------------


@pytest.mark.cgroupfs(layout="v2", kernel="7.2")
def test_a_trace_has_what_is_done_meanwhile_and_is_replayed(cgroupfs: CgroupTree, tmp_path: Path) -> None:
    (cgroupfs / "cgroup.subtree_control").write_text("+memory")
    (cgroupfs / "before").mkdir()
    with cgroupfs.trace(tmp_path / "t", limit="1Mi"):
        (cgroupfs / "before" / "memory.reclaim").write_text("0")
    (cgroupfs / "after").mkdir()
    assert "after" not in (tmp_path / "t").read_text()
    replay = replay_file(tmp_path / "t")
    assert {(row.call.path, one.kernel) for row, found in replay.differing() for one in found} == {
        ("before/memory.reclaim", "5.10")
    }
    assert not replay_file(tmp_path / "t", ["6.1", "7.2"]).differs()


def test_a_trace_that_cannot_be_is_an_error(cgroupfs: CgroupTree, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a trace has at least 4096 bytes"), cgroupfs.trace(tmp_path / "t", limit=1):
        pass
    with pytest.raises(MountError, match="No such file or directory"), cgroupfs.trace(tmp_path / "no" / "t"):
        pass
