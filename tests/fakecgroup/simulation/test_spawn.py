"""Simulated processes in a kernel of the model."""

from __future__ import annotations

from errno import EBUSY

import pytest

from fakecgroup import Kernel, Workload

_BUSY = {"for": "10s", "cpu": 1}


def _usage(kernel: Kernel, cgroup: str) -> float:
    """Seconds of CPU time that cpu.stat shows."""
    return int(kernel.read(f"{cgroup}/cpu.stat").split()[1]) / 1e6


@pytest.fixture
def kernel() -> Kernel:
    made = Kernel(cpus=1, clock=lambda: 0)
    made.write("/cgroup.subtree_control", "+cpu +cpuset")
    return made


def test_a_process_uses_what_its_phase_says(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([{"for": "10s", "cpu": "200m"}, {"sleep": "10s"}]))
    kernel.advance(5)
    assert _usage(kernel, "/a") == pytest.approx(1)
    kernel.advance(10)
    assert _usage(kernel, "/a") == pytest.approx(2)


def test_a_process_exits_after_its_last_phase(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    (pid,) = kernel.spawn("/a", Workload([_BUSY]))
    kernel.advance(9.9)
    assert kernel.read("/a/cgroup.procs") == f"{pid}\n"
    kernel.advance(0.2)
    assert kernel.read("/a/cgroup.procs") == ""
    kernel.rmdir("/a")


def test_weights_divide_a_cpu(kernel: Kernel) -> None:
    for name, weight in (("a", 100), ("b", 300)):
        kernel.mkdir(f"/{name}")
        kernel.write(f"/{name}/cpu.weight", str(weight))
        kernel.spawn(f"/{name}", Workload([_BUSY], loop="forever"))
    kernel.advance(40)
    assert [_usage(kernel, "/a"), _usage(kernel, "/b")] == pytest.approx([10, 30], rel=0.01)


def test_a_weight_that_is_written_later_counts_from_then_on(kernel: Kernel) -> None:
    for name in "ab":
        kernel.mkdir(f"/{name}")
        kernel.spawn(f"/{name}", Workload([_BUSY], loop="forever"))
    kernel.advance(10)
    kernel.write("/b/cpu.weight", "900")
    kernel.advance(10)
    assert [_usage(kernel, "/a"), _usage(kernel, "/b")] == pytest.approx([6, 14], rel=0.01)


def test_nice_divides_within_a_cgroup(kernel: Kernel) -> None:
    """Weights of 1024 and 335: nice 5 leaves a quarter (kernel/sched/core.c, sched_prio_to_weight)."""
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY], loop="forever", nice=5))
    kernel.mkdir("/a/b")
    kernel.spawn("/a/b", Workload([_BUSY], loop="forever"))
    kernel.advance(10)
    assert _usage(kernel, "/a/b") == pytest.approx(10 * 1024 / (1024 + 335), rel=0.01)


def test_processes_that_may_use_one_cpu_share_it() -> None:
    kernel = Kernel(cpus=4, clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+cpu +cpuset")
    for name in "ab":
        kernel.mkdir(f"/{name}")
        kernel.write(f"/{name}/cpuset.cpus", "0")
        kernel.spawn(f"/{name}", Workload([_BUSY], loop="forever"))
    kernel.mkdir("/c")
    kernel.spawn("/c", Workload([_BUSY], loop="forever"))
    kernel.advance(10)
    assert [_usage(kernel, f"/{name}") for name in "abc"] == pytest.approx([5, 5, 10])


def test_a_quota_holds_while_others_want_the_cpu_too(kernel: Kernel) -> None:
    for name in "ab":
        kernel.mkdir(f"/{name}")
        kernel.spawn(f"/{name}", Workload([_BUSY], loop="forever"))
    kernel.write("/a/cpu.max", "10000 100000")
    kernel.advance(10)
    assert [_usage(kernel, "/a"), _usage(kernel, "/b")] == pytest.approx([1, 9], rel=0.02)
    assert "nr_throttled 100\n" in kernel.read("/a/cpu.stat")


def test_a_cgroup_below_a_quota_tells_of_it_in_its_local_statistics(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.write("/a/cgroup.subtree_control", "+cpu")
    kernel.mkdir("/a/b")
    kernel.write("/a/cpu.max", "10000 100000")
    kernel.spawn("/a/b", Workload([_BUSY], loop="forever"))
    kernel.advance(10)
    local = [int(kernel.read(f"{cgroup}/cpu.stat.local").split()[1]) for cgroup in ("/a", "/a/b")]
    assert local == pytest.approx([9e6, 9e6], rel=0.02)
    assert "throttled_usec 0\n" in kernel.read("/a/b/cpu.stat")


def test_a_controller_that_is_enabled_again_counts_from_nothing(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY], loop="forever"))
    for _ in range(2):
        kernel.write("/cgroup.subtree_control", "+cpu")
        kernel.write("/a/cpu.max", "20000 100000")
        kernel.advance(1)
        assert "nr_throttled 10\n" in kernel.read("/a/cpu.stat")
        kernel.write("/cgroup.subtree_control", "-cpu")


def test_a_frozen_process_runs_no_more(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY], loop="forever"))
    kernel.advance(1)
    kernel.write("/a/cgroup.freeze", "1")
    kernel.advance(5)
    assert _usage(kernel, "/a") == pytest.approx(1)


def test_what_a_process_used_stays_where_it_was(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.mkdir("/b")
    (pid,) = kernel.spawn("/a", Workload([_BUSY], loop="forever"))
    kernel.advance(3)
    kernel.write("/b/cgroup.procs", str(pid))
    kernel.advance(4)
    assert [_usage(kernel, "/a"), _usage(kernel, "/b")] == pytest.approx([3, 4])


def test_a_killed_process_is_counted_where_it_was(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.mkdir("/a/b")
    kernel.spawn("/a/b", Workload([_BUSY], instances=2))
    kernel.write("/a/cgroup.kill", "1")
    kernel.advance(1)
    assert (kernel.killed(), kernel.killed("/a"), kernel.killed("/a/b"), kernel.killed("/c")) == (2, 2, 2, 0)


def test_on_v1_a_process_is_in_a_cgroup_of_each_hierarchy_that_is_named() -> None:
    kernel = Kernel("v1", cpus=2, clock=lambda: 0)
    kernel.mkdir("/cpu/app")
    kernel.mkdir("/memory/app")
    kernel.write("/cpu/app/cpu.cfs_quota_us", "20000")
    (pid,) = kernel.spawn(["/cpu/app", "/memory/app"], Workload([_BUSY]))
    kernel.advance(5)
    assert kernel.read("/memory/app/cgroup.procs") == f"{pid}\n"
    assert int(kernel.read("/cpu/app/cpuacct.usage")) / 1e9 == pytest.approx(1.02)
    assert "nr_throttled 50\n" in kernel.read("/cpu/app/cpu.stat")


def test_nothing_is_left_of_processes_that_cannot_be_there(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.mkdir("/a/b")
    kernel.write("/a/cgroup.subtree_control", "+cpuset")
    kernel.write("/cgroup.subtree_control", "+memory")
    kernel.write("/a/cgroup.subtree_control", "+memory")
    before = kernel.processes.all()
    with pytest.raises(OSError) as refusal:
        kernel.spawn("/a", Workload([_BUSY]))
    assert refusal.value.errno == EBUSY
    assert kernel.processes.all() == before


def test_the_same_seed_gives_the_same_files() -> None:
    def played(seed: int) -> str:
        kernel = Kernel(cpus=2, clock=lambda: 0, seed=seed)
        kernel.write("/cgroup.subtree_control", "+cpu")
        kernel.mkdir("/a")
        kernel.write("/a/cpu.max", "15000 100000")
        kernel.spawn("/a", Workload([{"run": "33ms"}, {"sleep": "171ms"}], loop="forever", instances=3))
        kernel.advance(20.5)
        return kernel.read("/a/cpu.stat") + kernel.read("/a/cpu.pressure")

    assert played(1) == played(1)
    assert played(1) != played(2)


def test_time_that_is_advanced_in_steps_is_the_same_time() -> None:
    def played(steps: int) -> str:
        kernel = Kernel(cpus=1, clock=lambda: 0)
        kernel.write("/cgroup.subtree_control", "+cpu")
        kernel.mkdir("/a")
        kernel.write("/a/cpu.max", "40000 100000")
        kernel.spawn("/a", Workload([{"for": "3s", "cpu": 1}, {"sleep": "2s"}], loop="forever"))
        for _ in range(steps):
            kernel.advance(24 / steps)
        return kernel.read("/a/cpu.stat")

    assert played(1) == played(48)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e12])
def test_no_other_time_can_pass(kernel: Kernel, seconds: float) -> None:
    with pytest.raises(ValueError, match=r"^seconds: "):
        kernel.advance(seconds)


def test_a_kill_says_when_it_was_which_process_and_where(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    (pid,) = kernel.spawn("/a", Workload([_BUSY], name="web"))
    kernel.advance(2)
    kernel.write("/a/cgroup.kill", "1")
    assert [tuple(kill) for kill in kernel.kills] == [(2_000_000_000, pid, "web", ("/a",))]


def test_a_process_that_restarts_comes_back_a_second_after_it_was_killed(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    (pid,) = kernel.spawn("/a", Workload([_BUSY], restart="always"))
    kernel.advance(1)
    kernel.write("/a/cgroup.kill", "1")
    kernel.advance(0.9)
    assert kernel.read("/a/cgroup.procs") == ""
    kernel.advance(0.2)
    assert kernel.read("/a/cgroup.procs") == f"{pid + 1}\n"


def test_a_process_that_restarts_comes_back_after_its_exit(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([{"for": "1s", "cpu": 1}], restart="always"))
    kernel.advance(10)
    assert "usage_usec 5000000\n" in kernel.read("/a/cpu.stat")


def test_pids_max_refuses_a_restart_until_there_is_room() -> None:
    kernel = Kernel(clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+pids")
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([{"for": "1s", "cpu": 1}], restart="always"))
    kernel.advance(0.5)
    kernel.write("/a/pids.max", "0")
    kernel.advance(4)
    assert (kernel.read("/a/pids.current"), kernel.read("/a/pids.events")) == ("0\n", "max 3\n")
    kernel.write("/a/pids.max", "max")
    kernel.advance(1)
    assert kernel.read("/a/pids.current") == "1\n"


def test_a_process_whose_cgroup_is_gone_does_not_restart(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([{"for": "1s", "cpu": 1}], restart="always"))
    kernel.advance(1.5)
    kernel.rmdir("/a")
    kernel.advance(5)
    assert kernel.next_event() is None


def test_what_a_process_used_until_it_is_killed_is_counted_at_once(kernel: Kernel) -> None:
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([_BUSY]))
    kernel.advance(2)
    kernel.write("/a/cgroup.kill", "1")
    assert _usage(kernel, "/a") == pytest.approx(2)


def _with_pids(limit: str) -> Kernel:
    kernel = Kernel(cpus=4, clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+cpu +pids")
    kernel.mkdir("/a")
    kernel.write("/a/pids.max", limit)
    return kernel


def test_the_threads_of_a_process_count_as_pids_until_it_ends() -> None:
    kernel = _with_pids("max")
    (pid,) = kernel.spawn("/a", Workload([_BUSY], threads=4))
    assert (kernel.read("/a/pids.current"), kernel.read("/a/cgroup.procs")) == ("4\n", f"{pid}\n")
    kernel.advance(11)
    assert (kernel.read("/a/pids.current"), kernel.read("/a/pids.peak")) == ("0\n", "4\n")
    assert kernel.read("/a/cgroup.events") == "populated 0\nfrozen 0\n"


def test_threads_that_pids_max_refuses_are_not_there_and_use_no_cpu() -> None:
    kernel = _with_pids("3")
    kernel.spawn("/a", Workload([{"for": "10s", "cpu": 4}]))
    assert (kernel.read("/a/pids.current"), kernel.read("/a/pids.events")) == ("3\n", "max 1\n")
    kernel.advance(10)
    assert _usage(kernel, "/a") == pytest.approx(30)


def test_threads_move_and_die_with_their_process() -> None:
    kernel = _with_pids("max")
    kernel.mkdir("/b")
    (pid,) = kernel.spawn("/a", Workload([_BUSY], threads=3))
    kernel.write("/b/cgroup.procs", str(pid))
    kernel.advance(1)
    assert (kernel.read("/a/pids.current"), kernel.read("/b/pids.current")) == ("0\n", "3\n")
    kernel.write("/b/cgroup.kill", "1")
    kernel.advance(1)
    assert (kernel.read("/b/pids.current"), kernel.read("/b/cgroup.threads")) == ("0\n", "")
    kernel.rmdir("/b")
