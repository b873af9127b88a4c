"""`Kernel`: what a program in the same process sees."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EACCES, EBUSY, EEXIST, EISDIR, ENODEV, ENOENT, ENOTDIR, EPERM, EROFS, ESRCH, EXDEV

import pytest

from fakecgroup import Caller, Kernel, Privileges, ProcessTable

USER = Caller(uid=1000, gid=1000, pid=1)


def refusal(function: object, *args: object, **kwargs: object) -> int | None:
    """The errno that a call is refused with."""
    with pytest.raises(OSError) as refused:
        function(*args, **kwargs)  # type: ignore[operator]
    return refused.value.errno


@pytest.fixture
def v1() -> Kernel:
    return Kernel("v1", "6.1", cpus=3)


@pytest.fixture
def v2() -> Kernel:
    kernel = Kernel("v2", "6.12")
    kernel.write("/cgroup.subtree_control", "+cpu +memory +pids")
    return kernel


def test_an_unknown_kernel_is_refused_with_the_list_of_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no kernel '4\.4' for layout v2: there is .*6\.12 for v2"):
        Kernel("v2", "4.4")
    with pytest.raises(ValueError, match="no layout 'v3'"):
        Kernel("v3")


def test_v1_is_laid_out_as_systemd_mounts_it(v1: Kernel) -> None:
    names = v1.listdir("/")
    assert {"cpu,cpuacct", "cpu", "cpuacct", "memory", "pids", "systemd"} <= set(names)
    assert v1.vfs.readlink(v1.walk("/cpu", follow=False)) == "cpu,cpuacct"


def test_hybrid_is_v1_with_the_unified_hierarchy_beside_it() -> None:
    hybrid = Kernel("hybrid")
    assert hybrid.personality.name == "6.1"
    assert set(hybrid.listdir("/")) == {*Kernel("v1", "6.1").listdir("/"), "unified"}


@pytest.mark.parametrize(("version", "left"), [("6.1", ""), ("6.12", "cpuset memory\n")])
def test_the_unified_hierarchy_of_hybrid_has_the_controllers_that_v1_has_not(version: str, left: str) -> None:
    assert Kernel("hybrid", version).read("/unified/cgroup.controllers") == left


def test_a_task_has_a_place_in_v1_and_in_the_unified_hierarchy() -> None:
    hybrid = Kernel("hybrid")
    hybrid.mkdir("/unified/a")
    hybrid.mkdir("/pids/b")
    hybrid.write("/unified/a/cgroup.procs", "1")
    hybrid.write("/pids/b/tasks", "1")
    where = hybrid.cgroup_of(1)
    assert (where[""], where["pids"], where["memory"]) == ("/a", "/b", "/")


def test_the_directory_above_the_hierarchies_takes_no_new_names(v1: Kernel) -> None:
    assert refusal(v1.mkdir, "/new") == EROFS
    assert refusal(v1.rename, "/cpu", "/other") == EROFS
    assert refusal(v1.unlink, "/cpu") == EROFS


def test_a_hierarchy_stays_where_it_is_mounted(v1: Kernel) -> None:
    assert refusal(v1.rmdir, "/memory") == EBUSY
    assert refusal(v1.rename, "/memory", "/other") == EBUSY
    assert refusal(v1.unlink, "/memory") == EISDIR


def test_a_cgroup_cannot_be_renamed_into_another_hierarchy(v1: Kernel) -> None:
    v1.mkdir("/memory/a")
    assert refusal(v1.rename, "/memory/a", "/pids/a") == EXDEV


def test_a_path_through_a_file_is_enotdir(v2: Kernel) -> None:
    assert refusal(v2.read, "/cgroup.procs/x") == ENOTDIR
    assert refusal(v2.read, "/nothing/cgroup.procs") == ENOENT


def test_dots_lead_where_they_do_in_a_path(v2: Kernel) -> None:
    v2.mkdir("/a")
    assert v2.read("/a/../a/./cpu.weight") == "100\n"


def test_nothing_but_a_directory_can_be_made(v2: Kernel) -> None:
    assert refusal(v2.open, "/x", os.O_CREAT | os.O_WRONLY) == EACCES
    assert refusal(v2.open, "/cgroup.procs", os.O_CREAT | os.O_EXCL) == EEXIST
    assert refusal(v2.unlink, "/cgroup.procs") == EPERM


def test_an_open_file_of_a_removed_cgroup_is_enodev_for_good(v2: Kernel) -> None:
    v2.mkdir("/a")
    file = v2.open("/a/cpu.weight", os.O_RDWR)
    v2.rmdir("/a")
    v2.mkdir("/a")
    assert refusal(file.read, 0, 100) == ENODEV
    assert refusal(file.write, b"5", Caller()) == ENODEV
    assert v2.read("/a/cpu.weight") == "100\n"


def test_an_open_file_of_a_disabled_controller_is_enodev(v2: Kernel) -> None:
    v2.mkdir("/a")
    v2.write("/a/cpu.weight", "55")
    file = v2.open("/a/cpu.weight")
    v2.write("/cgroup.subtree_control", "-cpu")
    assert refusal(file.read, 0, 100) == ENODEV
    assert refusal(v2.read, "/a/cpu.weight") == ENOENT
    v2.write("/cgroup.subtree_control", "+cpu")
    assert v2.read("/a/cpu.weight") == "100\n"


def test_a_text_is_kept_for_the_reads_that_follow_on(v2: Kernel) -> None:
    v2.mkdir("/a")
    file = v2.open("/a/cpu.max")
    assert file.read(0, 3) == b"max"
    v2.write("/a/cpu.max", "5000 10000")
    assert file.read(3, 100) == b" 100000\n"
    assert file.read(0, 100) == b"5000 10000\n"


def test_a_plain_user_manages_only_what_is_delegated(v2: Kernel) -> None:
    assert refusal(v2.mkdir, "/a", caller=USER) == EACCES
    v2.mkdir("/d")
    v2.chown("/d", 1000, 1000)
    v2.mkdir("/d/mine", caller=USER)
    assert v2.stat("/d/mine/cgroup.procs").uid == 1000
    assert refusal(v2.write, "/d/pids.max", "5", caller=USER) == EACCES
    assert refusal(v2.chmod, "/d/pids.max", 0o666, caller=USER) == EPERM


def test_supplementary_groups_are_asked_only_when_they_decide(v2: Kernel) -> None:
    asked = []

    def groups() -> list[int]:
        asked.append(True)
        return [500]

    member = Caller(1000, 1000, 1, groups)
    v2.read("/cgroup.procs", caller=member)
    assert not asked
    v2.mkdir("/a")
    v2.chown("/a/pids.max", 0, 500)
    v2.chmod("/a/pids.max", 0o664)
    v2.write("/a/pids.max", "7", caller=member)
    assert asked


def test_a_process_is_in_one_cgroup_per_hierarchy(v1: Kernel) -> None:
    table = v1.processes
    assert isinstance(table, ProcessTable)
    pid = table.add()
    v1.mkdir("/memory/a")
    v1.write("/memory/a/cgroup.procs", str(pid))
    where = v1.cgroup_of(pid)
    assert (where["memory"], where["cpu,cpuacct"], where["name=systemd"]) == ("/a", "/", "/")
    assert v1.read("/memory/a/tasks") == f"{pid}\n"
    assert str(pid) not in v1.read("/memory/tasks").split()


def test_a_zero_moves_the_writer_and_an_unknown_pid_is_esrch(v2: Kernel) -> None:
    table = v2.processes
    assert isinstance(table, ProcessTable)
    pid = table.add()
    v2.mkdir("/a")
    v2.write("/a/cgroup.procs", "0", caller=Caller(pid=pid))
    assert v2.read("/a/cgroup.procs") == f"{pid}\n"
    assert refusal(v2.write, "/a/cgroup.procs", "424242") == ESRCH
    assert refusal(v2.rmdir, "/a") == EBUSY


def test_a_process_that_exits_leaves_its_cgroup(v2: Kernel) -> None:
    table = v2.processes
    assert isinstance(table, ProcessTable)
    pid = table.add()
    v2.mkdir("/a")
    v2.write("/a/cgroup.procs", str(pid))
    assert v2.read("/a/cgroup.events") == "populated 1\nfrozen 0\n"
    table.exit(pid)
    v2.task_exited(pid)
    assert v2.read("/a/cgroup.events") == "populated 0\nfrozen 0\n"
    assert v2.read("/a/pids.current") == "1\n"
    table.reap(pid)
    v2.task_reaped(pid)
    assert v2.read("/a/pids.current") == "0\n"
    v2.rmdir("/a")


def test_events_are_told_to_whoever_listens(v2: Kernel) -> None:
    told = []
    v2.on_notify = lambda file: told.append(file.row.name)
    v2.mkdir("/a")
    v2.read("/a/cgroup.events")
    v2.write("/a/cgroup.procs", "1")
    assert told == ["cgroup.events"]


def test_the_same_tree_on_the_same_clock_has_the_same_inodes() -> None:
    def tree() -> list[object]:
        kernel = Kernel("v2", clock=lambda: 7)
        kernel.mkdir("/a")
        return [kernel.stat("/"), kernel.stat("/a"), kernel.stat("/a/cgroup.procs")]

    assert tree() == tree()


def test_a_child_can_start_in_another_cgroup() -> None:
    kernel = Kernel("v2", "6.12")
    kernel.mkdir("/a")
    child = kernel.clone_into(1, "/a")
    assert kernel.cgroup_of(child) == {"": "/a"}
    assert kernel.cgroup_of(1) == {"": "/"}


def test_a_child_cannot_start_in_a_cgroup_that_its_parent_cannot_open() -> None:
    kernel = Kernel("v2", "6.12")
    kernel.mkdir("/a")
    kernel.chmod("/cgroup.procs", 0o666)
    kernel.chmod("/a/cgroup.procs", 0o666)
    kernel.clone_into(1, "/a", USER)
    kernel.chmod("/a", 0o311)
    assert refusal(kernel.clone_into, 1, "/a", USER) == EACCES


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.exit(999),
        lambda table: table.reap(999),
        lambda table: table.set_uid(999, 1, 1),
        lambda table: table.grant(999, Privileges()),
        lambda table: table.add(tgid=999),
    ],
)
def test_the_table_has_no_such_task(change: Callable[[ProcessTable], object]) -> None:
    with pytest.raises(ProcessLookupError):
        change(ProcessTable())
