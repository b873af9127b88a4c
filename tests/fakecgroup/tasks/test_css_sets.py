"""Lists of the unified hierarchy where no recording says it: a leader that ends alone, and what is kept for nothing."""

from __future__ import annotations

from fakecgroup import Kernel, ProcessTable


def _threaded() -> tuple[Kernel, ProcessTable]:
    table = ProcessTable()
    kernel = Kernel("v2", "6.12", processes=table)
    for place in ("a", "a/b", "a/c"):
        kernel.mkdir(place)
    for place in ("a/b", "a/c"):
        kernel.write(f"{place}/cgroup.type", "threaded")
    return kernel, table


def test_a_leader_that_ends_before_its_threads_is_listed_after_the_others_of_its_cgroup() -> None:
    kernel, table = _threaded()
    ended, other, below = (kernel.fork(1) for _ in range(3))
    thread = kernel.fork(ended, thread=True)
    kernel.write("a/cgroup.procs", str(ended))
    kernel.write("a/cgroup.procs", str(other))
    kernel.write("a/c/cgroup.procs", str(below))
    table.exit(ended)
    kernel.task_exited(ended)
    assert kernel.read("a/cgroup.procs").split() == [str(tid) for tid in (other, ended, below)]
    assert kernel.read("a/cgroup.threads").split() == [str(tid) for tid in (thread, other)]
    table.exit(thread)
    kernel.task_exited(thread)
    assert kernel.read("a/cgroup.procs").split() == [str(tid) for tid in (other, below)]


def test_nothing_is_kept_of_processes_that_are_gone_or_back_in_the_root() -> None:
    kernel, table = _threaded()
    sets = kernel.membership.css_sets
    assert sets.count == 0
    for place in ("a", "a/b", "a/c"):
        leader = kernel.fork(1)
        thread = kernel.fork(leader, thread=True)
        kernel.write(f"{place}/cgroup.procs", str(leader))
        kernel.write("a/b/cgroup.threads", str(thread))
        kernel.write("cgroup.subtree_control", "+pids")
        kernel.write("cgroup.subtree_control", "-pids")
        assert sets.count > 0
        if place == "a/c":
            kernel.write("cgroup.procs", str(leader))
            continue
        for tid in (thread, leader):
            table.exit(tid)
            kernel.task_exited(tid)
        table.reap(leader)
        kernel.task_reaped(leader)
    assert sets.count == 0
