"""A child of a real process starts in its parent's cgroup at the time of the fork."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.new_pids import NewPids
from fakecgroup_mount.host.processes import HostProcesses

from ..waiting import wait_until
from .conftest import OTHER_UID, Mount, is_alive, needs_root, run, shell
from .test_processes import procs

RLIMIT_LOCKS = 10


class Family:
    """A shell that forks sleeping children when told to; all of them are killed at the end."""

    def __init__(self, **options: object) -> None:
        script = "while read word; do $word sleep 300 </dev/null >/dev/null & echo $!; done"
        self.shell = subprocess.Popen(
            ["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options
        )  # type: ignore[call-overload]
        self.pid: int = self.shell.pid
        self.children: list[int] = []

    def fork(self, how: str = "exec") -> int:
        self.shell.stdin.write(how + "\n")
        self.shell.stdin.flush()
        self.children.append(int(self.shell.stdout.readline()))
        return self.children[-1]

    def end_parent(self) -> None:
        self.shell.kill()
        self.shell.wait()

    def end(self) -> None:
        for child in self.children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.end_parent()
        wait_until(lambda: not any(map(is_alive, self.children)))
        self.shell.stdin.close()
        self.shell.stdout.close()


@pytest.fixture
def family() -> Iterator[Family]:
    family = Family()
    yield family
    family.end()


def test_a_child_is_where_its_parent_is(group: Path, family: Family) -> None:
    (group / "cgroup.procs").write_text(str(family.pid))
    child = family.fork()
    assert procs(group) == [family.pid, child]


def test_children_are_listed_in_the_order_of_their_start(group: Path, family: Family) -> None:
    (group / "cgroup.procs").write_text(str(family.pid))
    children = [family.fork() for _ in range(5)]
    assert procs(group) == [family.pid, *children]


def test_a_child_with_a_session_of_its_own_is_followed(group: Path, family: Family) -> None:
    (group / "cgroup.procs").write_text(str(family.pid))
    child = family.fork("setsid")
    assert procs(group) == [family.pid, child]


def test_a_child_forked_before_a_move_stays(group: Path, family: Family) -> None:
    for name in ("a", "b"):
        (group / name).mkdir()
    (group / "a" / "cgroup.procs").write_text(str(family.pid))
    before = family.fork()
    (group / "b" / "cgroup.procs").write_text(str(family.pid))
    after = family.fork()
    assert (procs(group / "a"), procs(group / "b")) == ([before], [family.pid, after])


def test_an_orphan_keeps_its_cgroup(group: Path, family: Family) -> None:
    (group / "cgroup.procs").write_text(str(family.pid))
    child = family.fork()
    family.end_parent()
    assert procs(group) == [child]


def test_a_cgroup_with_nobody_but_an_orphan_is_busy(group: Path, family: Family) -> None:
    (group / "a").mkdir()
    (group / "a" / "cgroup.procs").write_text(str(family.pid))
    family.fork()
    family.end_parent()
    with pytest.raises(OSError, match="Device or resource busy"):
        (group / "a").rmdir()


def test_populated_does_not_flicker_when_a_parent_exits(group: Path, family: Family) -> None:
    (group / "cgroup.procs").write_text(str(family.pid))
    family.fork()
    with (group / "cgroup.events").open("rb", buffering=0) as file:
        file.read()
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        family.end_parent()
        quiet = poller.poll(100)
    assert (quiet, "populated 1" in (group / "cgroup.events").read_text()) == ([], True)


def test_children_count_as_pids(group: Path, family: Family) -> None:
    (group / "cgroup.procs").write_text(str(family.pid))
    family.fork()
    assert (group / "pids.current").read_text() == "2\n"


def test_a_child_can_be_moved_on(group: Path, family: Family) -> None:
    (group / "a").mkdir()
    (group / "cgroup.procs").write_text(str(family.pid))
    child = family.fork()
    (group / "a" / "cgroup.procs").write_text(str(child))
    assert (procs(group), procs(group / "a")) == ([family.pid], [child])


def test_cgroup_kill_ends_children_too(group: Path, family: Family) -> None:
    (group / "cgroup.procs").write_text(str(family.pid))
    family.fork()
    (group / "cgroup.kill").write_text("1")
    wait_until(lambda: procs(group) == [])


def test_a_shell_sees_its_children_in_its_cgroup(group: Path) -> None:
    script = "echo 0 > cgroup.procs; sleep 100 & grep -qx $! cgroup.procs && echo followed; kill $!"
    assert shell(script, group) == (0, "followed\n", "")


def test_a_v1_child_is_in_every_hierarchy_where_its_parent_was(v1: Path, cpu_group: Path, family: Family) -> None:
    other = v1 / "freezer" / cpu_group.name
    other.mkdir()
    try:
        for place in (cpu_group, other):
            (place / "cgroup.procs").write_text(str(family.pid))
        child = family.fork()
        assert (procs(cpu_group), procs(other)) == (sorted([family.pid, child]),) * 2
    finally:
        family.end()
        other.rmdir()


def test_a_process_back_in_the_root_has_its_own_limit_back(v2: Path, group: Path, family: Family) -> None:
    before = resource.prlimit(family.pid, RLIMIT_LOCKS)
    (group / "cgroup.procs").write_text(str(family.pid))
    during = resource.prlimit(family.pid, RLIMIT_LOCKS)
    (v2 / "cgroup.procs").write_text(str(family.pid))
    assert (during != before, resource.prlimit(family.pid, RLIMIT_LOCKS)) == (True, before)


def test_unmounting_gives_the_limits_back(mount: Mount, family: Family) -> None:
    before = resource.prlimit(family.pid, RLIMIT_LOCKS)
    tree = mount()
    (tree / "a").mkdir()
    (tree / "a" / "cgroup.procs").write_text(str(family.pid))
    child = family.fork()
    assert run("umount", tree).returncode == 0
    assert [resource.prlimit(pid, RLIMIT_LOCKS) for pid in (family.pid, child)] == [before, before]


# -- without a mount ------------------------------------------------------------------------------------------


@pytest.fixture
def processes() -> HostProcesses:
    return HostProcesses(IdMap(0, 0))


def test_without_events_a_process_with_a_low_hard_limit_is_not_followed(processes: HostProcesses) -> None:
    kernel = Kernel(processes=processes)
    kernel.mkdir("/a")
    family = Family(preexec_fn=lambda: resource.setrlimit(RLIMIT_LOCKS, (1000, 1000)))
    try:
        kernel.write("/a/cgroup.procs", str(family.pid))
        family.fork()
        listed, limits = kernel.read("/a/cgroup.procs"), resource.prlimit(family.pid, RLIMIT_LOCKS)
    finally:
        family.end()
    assert (listed, limits) == (f"{family.pid}\n", (1000, 1000))


def test_two_daemons_do_not_take_each_others_children(family: Family, processes: HostProcesses) -> None:
    kernel, other = Kernel(processes=processes), HostProcesses(IdMap(0, 0))
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.procs", str(family.pid))
    another = Family()
    kernel_of_other = Kernel(processes=other)
    kernel_of_other.mkdir("/a")
    kernel_of_other.write("/a/cgroup.procs", str(another.pid))
    try:
        family.fork()
        another.fork()
        assert (len(kernel.read("/a/cgroup.procs").split()), len(other.forked())) == (2, 1)
    finally:
        another.end()


def test_no_process_is_looked_at_while_nobody_is_followed(
    processes: HostProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Kernel(processes=processes)
    kernel.mkdir("/a")
    monkeypatch.setattr(os, "listdir", lambda path: pytest.fail(f"{path} was searched"))
    assert kernel.read("/a/cgroup.procs") == ""


def test_nothing_is_looked_at_any_more_once_the_last_process_has_gone(family: Family, processes: HostProcesses) -> None:
    kernel = Kernel(processes=processes)
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.procs", str(family.pid))
    family.end()

    def looks() -> bool:
        processes.report(kernel)
        with pytest.MonkeyPatch.context() as patch:
            asked: list[object] = []

            def take(numbers: object) -> tuple[list[int], bool]:
                asked.append(numbers)
                return [], True

            patch.setattr(NewPids, "take", take)
            kernel.read("/a/cgroup.procs")
        kernel.read("/a/cgroup.procs")
        return bool(asked)

    wait_until(lambda: not looks())


def test_a_child_that_is_a_zombie_counts_as_a_pid_and_populates_nothing(processes: HostProcesses) -> None:
    kernel = Kernel(processes=processes)
    kernel.write("/cgroup.subtree_control", "+pids")
    kernel.mkdir("/a")
    with subprocess.Popen(["sh", "-c", "read word; true & exec sleep 300"], stdin=subprocess.PIPE) as parent:
        try:
            kernel.write("/a/cgroup.procs", str(parent.pid))
            assert parent.stdin is not None
            parent.stdin.write(b"go\n")
            parent.stdin.flush()
            children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
            while not any(" Z " in Path(f"/proc/{pid}/stat").read_text() for pid in children.read_text().split()):
                pass
            assert (kernel.read("/a/cgroup.procs"), kernel.read("/a/pids.current")) == (f"{parent.pid}\n", "2\n")
        finally:
            parent.kill()


@needs_root
def test_children_of_another_users_process_are_followed_by_roots_daemon(group: Path) -> None:
    family = Family(user=OTHER_UID)
    try:
        resource.prlimit(family.pid, RLIMIT_LOCKS)
    except PermissionError:
        family.end()
        pytest.skip("takes CAP_SYS_RESOURCE")
    try:
        (group / "cgroup.procs").write_text(str(family.pid))
        child = family.fork()
        assert procs(group) == [family.pid, child]
    finally:
        family.end()
