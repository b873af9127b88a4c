"""Rules act on the calls of one kernel's tree."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EIO, ENODEV, ENOENT, ENOMEM, ENOSPC, errorcode

import pytest

from fakecgroup import Kernel
from fakecgroup.credentials.caller import ROOT
from fakecgroup.faults import FaultError, Faults, Firing


class Clock:
    """A clock that the test sets, in ns."""

    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kernel(clock: Clock) -> Kernel:
    kernel = Kernel("v2", "6.12", clock=clock)
    kernel.write("/cgroup.subtree_control", "+cpu +pids")
    kernel.mkdir("/a")
    return kernel


@pytest.fixture
def faults(kernel: Kernel) -> Faults:
    return Faults(kernel)


def errno_of(call: Callable[[], object]) -> str | None:
    try:
        call()
    except OSError as error:
        return errorcode[error.errno or 0]
    return None


def test_an_error_happens_as_often_as_it_says(kernel: Kernel, faults: Faults) -> None:
    faults.add("write a/cgroup.procs = 2*error(EBUSY)->1*off->1*error(ESRCH)")
    answers = [errno_of(lambda: kernel.write("/a/cgroup.procs", "0")) for _ in range(5)]
    assert answers == ["EBUSY", "EBUSY", None, "ESRCH", None]


def test_a_refused_write_changes_nothing(kernel: Kernel, faults: Faults) -> None:
    faults.add("write */pids.max = 1*error(ENOMEM)")
    with pytest.raises(OSError, match=os.strerror(ENOMEM)):
        kernel.write("/a/pids.max", "5")
    assert kernel.read("/a/pids.max") == "max\n"


def test_the_first_rule_that_matches_with_an_error_decides(kernel: Kernel, faults: Faults) -> None:
    faults.add("mkdir b* = error(ENOMEM)")
    faults.add("mkdir * = error(EAGAIN)")
    assert errno_of(lambda: kernel.mkdir("/b")) == "ENOMEM"
    assert errno_of(lambda: kernel.mkdir("/c")) == "EAGAIN"


@pytest.mark.parametrize(
    ("op", "call"),
    [
        ("open", lambda kernel: kernel.open("/a/pids.max")),
        ("read", lambda kernel: kernel.read("/a/pids.max")),
        ("write", lambda kernel: kernel.write("/a/pids.max", "1")),
        ("stat", lambda kernel: kernel.stat("/a/pids.max")),
        ("chmod", lambda kernel: kernel.chmod("/a/pids.max", 0o600)),
        ("chown", lambda kernel: kernel.chown("/a/pids.max", 1, 1)),
        ("truncate", lambda kernel: kernel.vfs.setattr(kernel.walk("/a/pids.max"), ROOT, size=0)),
        ("utimens", lambda kernel: kernel.vfs.setattr(kernel.walk("/a/pids.max"), ROOT, atime=0, mtime=0)),
        ("access", lambda kernel: kernel.vfs.access(kernel.walk("/a/pids.max"), 4, ROOT)),
        ("setxattr", lambda kernel: kernel.vfs.setxattr(kernel.walk("/a/pids.max"), "user.x", b"1", 0, ROOT)),
        ("getxattr", lambda kernel: kernel.vfs.getxattr(kernel.walk("/a/pids.max"), "user.x", ROOT)),
        ("removexattr", lambda kernel: kernel.vfs.removexattr(kernel.walk("/a/pids.max"), "user.x", ROOT)),
        ("listxattr", lambda kernel: kernel.vfs.listxattr(kernel.walk("/a/pids.max"), ROOT)),
    ],
)
def test_each_operation_on_a_file_can_fail(op: str, call: Callable[[Kernel], object], kernel: Kernel) -> None:
    faults = Faults(kernel)
    faults.add(f"{op} a/pids.max = 1*error(EIO)", any_errno=True)
    with pytest.raises(OSError) as refused:
        call(kernel)
    assert refused.value.errno == EIO
    assert faults.firings[-1][:4] == (1, op, "a/pids.max", "error EIO")


@pytest.mark.parametrize(
    ("op", "call"),
    [
        ("rmdir", lambda kernel: kernel.rmdir("/a")),
        ("listdir", lambda kernel: kernel.listdir("/a")),
        ("rename", lambda kernel: kernel.rename("/a", "/b")),
    ],
)
def test_each_operation_on_a_cgroup_can_fail(op: str, call: Callable[[Kernel], object], kernel: Kernel) -> None:
    Faults(kernel).add(f"{op} a = 1*error(EIO)", any_errno=True)
    with pytest.raises(OSError) as refused:
        call(kernel)
    assert refused.value.errno == EIO


def test_a_chance_is_the_same_for_the_same_seed() -> None:
    def answers(seed: int) -> list[str | None]:
        kernel = Kernel("v2", "6.12")
        Faults(kernel, seed=seed).add("read */pids.max = 50%error(ENOMEM)")
        kernel.write("/cgroup.subtree_control", "+pids")
        kernel.mkdir("/a")
        return [errno_of(lambda: kernel.read("/a/pids.max")) for _ in range(40)]

    assert answers(1) == answers(1) != answers(2)
    assert 8 < answers(1).count("ENOMEM") < 32


def test_a_delay_is_told_to_the_transport(kernel: Kernel) -> None:
    told: list[int] = []
    Faults(kernel, delay=told.append).add("write */pids.max = 1*delay(50ms)")
    kernel.write("/a/pids.max", "5")
    kernel.write("/a/pids.max", "6")
    assert told == [50_000_000]


def test_a_panic_takes_a_daemon(kernel: Kernel, faults: Faults) -> None:
    with pytest.raises(FaultError, match="there is no daemon here that could die"):
        faults.add("mkdir * = panic")
    died: list[bool] = []
    Faults(kernel, panic=lambda: died.append(True)).add("mkdir * = 1*panic")
    kernel.mkdir("/b")
    assert died == [True]


# -- changes between two calls --------------------------------------------------------------------


def test_a_cgroup_vanishes_before_it_is_written_to(kernel: Kernel, faults: Faults) -> None:
    faults.add("open a/pids.max = 1*vanish")
    assert errno_of(lambda: kernel.write("/a/pids.max", "5")) == errorcode[ENODEV]
    assert errno_of(lambda: kernel.stat("/a")) == errorcode[ENOENT]


def test_an_open_file_of_a_vanished_cgroup_is_dead(kernel: Kernel, faults: Faults) -> None:
    kernel.mkdir("/a/below")
    faults.add("write a/pids.max = 1*vanish")
    assert errno_of(lambda: kernel.write("/a/pids.max", "5")) == errorcode[ENODEV]
    assert errno_of(lambda: kernel.stat("/a/below")) == errorcode[ENOENT]


def test_a_cgroup_with_processes_does_not_vanish(kernel: Kernel, faults: Faults) -> None:
    kernel.write("/a/cgroup.procs", "0")
    faults.add("write a/pids.max = 1*vanish")
    kernel.write("/a/pids.max", "5")
    assert faults.firings[-1].what == "vanish: EBUSY"


def test_a_file_of_a_new_cgroup_appears_late(kernel: Kernel, faults: Faults, clock: Clock) -> None:
    faults.add("appear b/pids.max = delay(200ms)")
    kernel.mkdir("/b")
    assert "pids.max" not in kernel.listdir("/b")
    assert errno_of(lambda: kernel.read("/b/pids.max")) == errorcode[ENOENT]
    assert kernel.read("/b/cpu.weight") == "100\n"
    clock.now += 200_000_000
    assert "pids.max" in kernel.listdir("/b")
    assert kernel.read("/b/pids.max") == "max\n"


def test_a_file_of_a_new_controller_appears_late(kernel: Kernel, faults: Faults, clock: Clock) -> None:
    faults.add("appear */cpuset.cpus = delay(1s)")
    kernel.write("/cgroup.subtree_control", "+cpuset")
    assert errno_of(lambda: kernel.read("/a/cpuset.cpus")) == errorcode[ENOENT]
    assert "cpuset.mems" in kernel.listdir("/a")
    clock.now += 1_000_000_000
    assert kernel.read("/a/cpuset.cpus") == "\n"


def test_a_hidden_file_of_a_removed_cgroup_is_forgotten(kernel: Kernel, faults: Faults) -> None:
    faults.add("appear b/pids.max = 1*delay(60s)")
    kernel.mkdir("/b")
    kernel.rmdir("/b")
    kernel.mkdir("/b")
    assert kernel.read("/b/pids.max") == "max\n"


# -- the list of rules ----------------------------------------------------------------------------


def test_a_removed_rule_acts_no_more(kernel: Kernel, faults: Faults) -> None:
    number = faults.add("write */pids.max = error(ENOMEM)")
    faults.remove(number)
    kernel.write("/a/pids.max", "5")
    assert faults.rules() == []
    with pytest.raises(KeyError):
        faults.remove(number)


def test_a_file_with_one_wrong_rule_adds_none(faults: Faults) -> None:
    with pytest.raises(FaultError, match=r"^f:2: .*never matches"):
        faults.add_all("read */pids.max = 1*error(ENOMEM)\nread */nothing = off\n", "f")
    assert faults.rules() == []


def test_firings_are_told(kernel: Kernel, faults: Faults) -> None:
    told: list[Firing] = []
    faults.on_firing = told.append
    faults.add("mkdir * = 1*off->1*error(ENOMEM)")
    kernel.mkdir("/b")
    assert told == []
    assert errno_of(lambda: kernel.mkdir("/c")) == errorcode[ENOMEM]
    assert [(one.op, one.path, one.what) for one in told] == [("mkdir", "c", "error ENOMEM")]
    assert [one.fired for one in faults.rules()] == [1]


@pytest.mark.parametrize(("layout", "kernel"), [("v1", "6.1"), ("hybrid", "6.1")])
def test_on_v1_a_path_begins_with_its_hierarchy(layout: str, kernel: str) -> None:
    tree = Kernel(layout, kernel)
    Faults(tree).add("mkdir cpu,cpuacct/a = error(ENOSPC)")
    tree.mkdir("/memory/a")
    with pytest.raises(OSError) as refused:
        tree.mkdir("/cpu/a")  # a link to cpu,cpuacct
    assert refused.value.errno == ENOSPC
