"""What processes use is counted in the cgroups where they used it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from fakecgroup import (
    Caller,
    CpuTime,
    CpuUse,
    End,
    EventFd,
    Faults,
    Kernel,
    MemoryUse,
    ProcessMemory,
    ProcessTable,
    TaskInfo,
)
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.tasks.place import Places

SECOND = 1_000_000_000
MIB = 1 << 20
NOBODY = 1  # a parent that is asked about nothing


class Machine(ProcessTable):
    """Processes that use what a test says; all of their CPU time is the user's."""

    def __init__(self) -> None:
        super().__init__()
        self.used: dict[int, CpuUse] = {}
        self.kept: dict[int, ProcessMemory] = {}
        self.threads_used: dict[int, int] = {}
        self.woken: list[float | None] = []
        self.ends: list[End] | None = None
        self.born: list[tuple[TaskInfo, Places]] = []
        self.asked: list[int] = []

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        return self.used.get(tgid)

    def thread_cpu(self, tid: int) -> int:
        return self.threads_used.get(tid, 0)

    def memory(self, tgid: int) -> ProcessMemory:
        self.asked.append(tgid)
        return self.kept.get(tgid, ProcessMemory(MemoryUse()))

    def resident(self, tgid: int) -> int:
        return self.kept[tgid].resident if tgid in self.kept else 0

    def forked(self) -> Iterable[tuple[TaskInfo, Places]]:
        born, self.born = self.born, []
        return born

    def forks(self, parent: int, place: Cgroup) -> int:
        """A child with a copy of what its parent has."""
        child = self.process(parent)
        self.kept[child] = self.kept[parent]
        self.born.append((TaskInfo(child, child), (place,)))
        return child

    def ended(self) -> list[End] | None:
        ends, self.ends = self.ends, [] if self.ends is not None else None
        return ends

    def wake(self, seconds: float | None) -> None:
        self.woken.append(seconds)

    def process(self, parent: int = NOBODY) -> int:
        pid = self.add()
        self.used[pid] = CpuUse(pid, parent, CpuTime(), CpuTime())
        return pid

    def runs(self, pid: int, seconds: float, children: float = 0) -> None:
        """So much more, itself and in children that it has waited for."""
        use = self.used[pid]
        own, waited = round(seconds * SECOND), round(children * SECOND)
        self.used[pid] = use._replace(
            own=use.own.plus(CpuTime(own, own)), children=use.children.plus(CpuTime(waited, waited))
        )

    def has(self, pid: int, mib: int, image: str = "sh", peak: int | None = None) -> None:
        """What it has is another, so it has run."""
        self.runs(pid, 1e-6)
        self.kept[pid] = ProcessMemory(
            MemoryUse(anon=mib * MIB), image, mib * MIB, (mib if peak is None else peak) * MIB
        )

    def goes(self, pid: int) -> None:
        del self.used[pid]
        self.kept.pop(pid, None)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def kernel(machine: Machine) -> Kernel:
    seconds = iter(range(10**6))
    kernel = Kernel("v2", "6.12", cpus=2, processes=machine, clock=lambda: next(seconds) * SECOND)
    kernel.write("cgroup.subtree_control", "+memory +pids")
    for path in ("a", "b", "a/c"):
        kernel.mkdir(path)
    return kernel


def seconds(kernel: Kernel, path: str) -> float:
    usage, user, system = kernel.read(f"{path}/cpu.stat").splitlines()[:3]
    assert int(usage.split()[1]) == int(user.split()[1]) + int(system.split()[1])
    return int(usage.split()[1]) / 1e6


def cgroup(kernel: Kernel, path: str) -> Cgroup:
    found = kernel.walk(path)
    assert isinstance(found, Cgroup)
    return found


def mib(kernel: Kernel, path: str, file: str = "memory.current") -> float:
    return int(kernel.read(f"{path}/{file}")) / MIB


# -- CPU time -----------------------------------------------------------------------------------------


def test_time_counts_where_it_is_used_and_above(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.runs(pid, 5)
    kernel.write("a/c/cgroup.procs", str(pid))
    machine.runs(pid, 2)
    assert [seconds(kernel, path) for path in ("a/c", "a", "b")] == [2, 2, 0]


def test_what_was_used_before_a_move_stays(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    kernel.write("a/cgroup.procs", str(pid))
    machine.runs(pid, 2)
    kernel.write("b/cgroup.procs", str(pid))
    machine.runs(pid, 3)
    assert (seconds(kernel, "a"), seconds(kernel, "b")) == (2, 3)


def test_what_was_used_in_a_removed_cgroup_stays_above(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    kernel.write("a/c/cgroup.procs", str(pid))
    machine.runs(pid, 2)
    kernel.write("cgroup.procs", str(pid))
    kernel.rmdir("a/c")
    machine.runs(pid, 7)
    assert seconds(kernel, "a") == 2


def test_children_that_nobody_saw_count_where_their_parent_is(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    kernel.write("a/cgroup.procs", str(pid))
    machine.runs(pid, 1, children=4)
    assert seconds(kernel, "a") == 5


def test_what_was_waited_for_is_not_counted_twice(machine: Machine, kernel: Kernel) -> None:
    parent = machine.process()
    child = machine.process(parent)
    kernel.write("a/cgroup.procs", str(parent))
    kernel.write("b/cgroup.procs", str(child))
    machine.runs(child, 3)
    assert seconds(kernel, "b") == 3
    machine.runs(child, 0.5)
    kernel.task_exited(child)
    machine.goes(child)
    machine.runs(parent, 0.25, children=3.5)
    kernel.task_reaped(child)
    assert (seconds(kernel, "a"), seconds(kernel, "b")) == (0.25, 3.5)


def test_the_end_of_a_child_is_found_in_what_its_parent_has_waited_for(machine: Machine, kernel: Kernel) -> None:
    parent = machine.process()  # in no cgroup
    machine.runs(parent, 0, children=100)
    child = machine.process(parent)
    kernel.write("b/cgroup.procs", str(child))
    machine.goes(child)
    machine.runs(parent, 0, children=1.5)
    kernel.task_exited(child)
    assert seconds(kernel, "b") == 1.49  # the 100 s may have been anything up to 100.02


def test_a_child_that_tells_its_end_is_counted_though_nobody_knew_it(machine: Machine, kernel: Kernel) -> None:
    parent = machine.process()
    child = machine.process(parent)
    machine.runs(child, 2)
    kernel.membership.process_exits([(child, (cgroup(kernel, "b"),))], child, 0)
    machine.goes(child)
    machine.runs(parent, 0, children=2)
    kernel.look()
    assert seconds(kernel, "b") == 2


def test_a_child_that_outlived_its_parent_is_counted_once_whoever_waits_for_it(
    machine: Machine, kernel: Kernel
) -> None:
    top = machine.process()
    parent = machine.process(top)
    child = machine.process(parent)
    for pid in (top, parent, child):
        kernel.write("a/cgroup.procs", str(pid))
    machine.runs(child, 3)
    kernel.membership.process_exits([], child, 0)
    kernel.membership.process_exits([], parent, 0)
    for pid in (parent, child):
        machine.goes(pid)
    machine.runs(top, 0, children=3)
    kernel.look()
    kernel.look()
    assert seconds(kernel, "a") == 3


def test_what_a_known_process_has_used_at_its_end_is_counted_once(machine: Machine, kernel: Kernel) -> None:
    machine.ends = []
    parent = machine.process()
    child = machine.process(parent)
    for pid in (parent, child):
        kernel.write("a/cgroup.procs", str(pid))
    machine.runs(child, 2)
    assert seconds(kernel, "a") == 2
    machine.goes(child)
    machine.runs(parent, 1, children=3)
    machine.ends.append(End(child, child, 3 * SECOND, CpuTime(3 * SECOND, 3 * SECOND)))
    kernel.task_exited(child)
    assert seconds(kernel, "a") == 4


def test_a_process_that_came_and_went_unseen_is_counted_where_it_was_forked(machine: Machine, kernel: Kernel) -> None:
    machine.ends = []
    parent = machine.process()
    kernel.write("a/cgroup.procs", str(parent))
    machine.runs(parent, 1, children=2)
    end = End(777, 777, 2 * SECOND, CpuTime(2 * SECOND, 2 * SECOND), 9 * MIB, MIB, (cgroup(kernel, "a/c"),))
    machine.ends.append(end)
    assert (seconds(kernel, "a"), seconds(kernel, "a/c"), mib(kernel, "a", "memory.peak")) == (3, 2, 8)


def test_what_is_told_of_an_end_may_be_lost_and_nothing_is_counted_twice(machine: Machine, kernel: Kernel) -> None:
    machine.ends = []
    parent = machine.process()
    child = machine.process(parent)
    for pid in (parent, child):
        kernel.write("a/cgroup.procs", str(pid))
    machine.runs(child, 2)
    kernel.look()
    machine.goes(child)
    machine.runs(parent, 1, children=3)
    for _ in range(3):
        kernel.look()
    assert seconds(kernel, "a") == 3


def test_a_thread_that_has_ended_in_another_cgroup_is_counted_there(machine: Machine) -> None:
    machine.ends = []
    kernel = Kernel("v1", kernel="6.1", processes=machine)
    for path in ("a", "b"):
        kernel.mkdir(f"cpu/{path}")
    pid = machine.process()
    thread = machine.add(tgid=pid)
    kernel.write("cpu/a/cgroup.procs", str(pid))
    kernel.write("cpu/b/tasks", str(thread))
    machine.runs(pid, 5)
    machine.exit(thread)
    machine.ends.append(End(thread, pid, 3 * SECOND))
    kernel.look()
    assert [kernel.read(f"cpu/{path}/cpuacct.usage") for path in ("a", "b")] == [f"{2 * SECOND}\n", f"{3 * SECOND}\n"]


def test_a_child_is_counted_once_while_its_orphan_leads_back_to_its_parent(machine: Machine, kernel: Kernel) -> None:
    top = machine.process()
    parent = machine.process(top)
    child = machine.process(parent)
    orphan = machine.process(child)
    for pid in (parent, child, orphan):
        kernel.write("a/cgroup.procs", str(pid))
    machine.runs(orphan, 1)
    machine.runs(child, 2)
    kernel.membership.process_exits([], child, 0)
    machine.used[orphan] = machine.used[orphan]._replace(parent=top)
    machine.goes(child)
    machine.runs(parent, 0, children=2)
    machine.runs(top, 0, children=0.5)
    kernel.task_exited(child)
    kernel.look()
    assert seconds(kernel, "a") == 3


@pytest.mark.parametrize("which", ["parent", "child"])
def test_the_parent_of_a_known_process_is_told_of_by_its_end(machine: Machine, kernel: Kernel, which: str) -> None:
    place = (cgroup(kernel, "a"),)
    top = machine.process()
    parent = machine.process(top)
    child = machine.process(parent)
    for pid in (parent, child):
        machine.runs(pid, 1)
    told = [(parent, place), (child, place)]
    if which == "parent":
        kernel.membership.process_exits(told[:1], parent, 0)
    kernel.membership.process_exits(told[which == "parent" :], child, 0)
    machine.goes(child)
    machine.runs(parent, 0, children=1)
    kernel.membership.process_exits([], parent, 0)
    machine.goes(parent)
    machine.runs(top, 0, children=2)
    kernel.look()
    assert seconds(kernel, "a") == 2


def test_a_child_that_is_gone_has_had_no_more_time_than_passed(machine: Machine, kernel: Kernel) -> None:
    parent = machine.process()
    child = machine.process(parent)
    kernel.write("b/cgroup.procs", str(child))
    machine.goes(child)
    machine.runs(parent, 0, children=5000)
    kernel.task_exited(child)
    assert seconds(kernel, "b") < 500


def test_a_family_that_ends_at_once_is_counted_where_it_was(machine: Machine, kernel: Kernel) -> None:
    top = machine.process()
    middle, leaf = machine.process(top), None
    leaf = machine.process(middle)
    for pid, path in ((middle, "a"), (leaf, "a")):
        kernel.write(f"{path}/cgroup.procs", str(pid))
    machine.runs(leaf, 1)
    assert seconds(kernel, "a") == 1
    machine.goes(leaf)
    machine.goes(middle)
    machine.runs(top, 0, children=1 + 0.5 + 0.25)
    for pid in (leaf, middle):
        kernel.task_exited(pid)
    assert seconds(kernel, "a") == 1.75


@pytest.mark.parametrize("first", [0, 1])
def test_a_parent_and_its_child_that_are_gone_are_counted_once_whoever_is_looked_at_first(
    machine: Machine, kernel: Kernel, first: int
) -> None:
    top = machine.process()
    parent = machine.process(top)
    child = machine.process(parent)
    for pid in (parent, child):
        kernel.write("a/cgroup.procs", str(pid))
    machine.runs(child, 1)
    assert seconds(kernel, "a") == 1
    for pid in (child, parent):
        machine.goes(pid)
    machine.runs(top, 0, children=1)
    for pid in (parent, child) if first else (child, parent):
        kernel.task_exited(pid)
    assert seconds(kernel, "a") == 1


def test_a_process_that_left_takes_its_time_along(machine: Machine, kernel: Kernel) -> None:
    parent = machine.process()
    child = machine.process(parent)
    for pid in (parent, child):
        kernel.write("a/cgroup.procs", str(pid))
    kernel.write("cgroup.procs", str(child))
    machine.runs(child, 9)
    kernel.look()
    machine.goes(child)
    machine.runs(parent, 1, children=9)
    kernel.task_exited(child)
    assert seconds(kernel, "a") == 1


def test_a_thread_in_another_cgroup_counts_there(machine: Machine) -> None:
    kernel = Kernel("v1", "6.1", processes=machine)
    for path in ("a", "b"):
        kernel.mkdir(f"cpu/{path}")
    pid = machine.process()
    thread = machine.add(tgid=pid)
    machine.threads_used[thread] = SECOND
    machine.runs(pid, 2)
    kernel.write("cpu/a/cgroup.procs", str(pid))
    kernel.write("cpu/b/tasks", str(thread))
    machine.runs(pid, 5)
    machine.threads_used[thread] += 3 * SECOND
    assert [kernel.read(f"cpu/{path}/cpuacct.usage") for path in ("a", "b")] == [f"{2 * SECOND}\n", f"{3 * SECOND}\n"]


@pytest.mark.parametrize(("version", "stat"), [("5.10", "user 0\nsystem 0\n"), ("6.1", "user 200\nsystem 0\n")])
def test_a_reset_is_for_one_group(machine: Machine, version: str, stat: str) -> None:
    kernel = Kernel("v1", version, processes=machine)
    for path in ("a", "a/b"):
        kernel.mkdir(f"cpu/{path}")
    pid = machine.process()
    kernel.write("cpu/a/b/cgroup.procs", str(pid))
    machine.runs(pid, 2)
    assert kernel.read("cpu/a/b/cpuacct.stat") == "user 200\nsystem 0\n"
    kernel.write("cpu/a/b/cpuacct.usage", "0")
    assert [kernel.read(f"cpu/{path}/cpuacct.usage") for path in ("a", "a/b")] == [f"{2 * SECOND}\n", "0\n"]
    assert kernel.read("cpu/a/b/cpuacct.stat") == stat
    machine.runs(pid, 3)
    assert kernel.read("cpu/a/b/cpuacct.stat") == "user 300\nsystem 0\n"


def test_the_files_by_cpu_add_up(machine: Machine) -> None:
    kernel = Kernel("v1", "6.1", cpus=2, processes=machine)
    kernel.mkdir("cpu/a")
    pid = machine.process()
    kernel.write("cpu/a/cgroup.procs", str(pid))
    for cpu in (0, 1, 5):  # the machine has more than the fake
        machine.used[pid] = machine.used[pid]._replace(cpu=cpu)
        machine.runs(pid, 1)
        kernel.read("cpu/a/cpuacct.usage")
    assert kernel.read("cpu/a/cpuacct.usage_percpu") == f"{SECOND} {2 * SECOND} \n"
    assert kernel.read("cpu/a/cpuacct.usage_all") == f"cpu user system\n0 {SECOND} 0\n1 {2 * SECOND} 0\n"


def test_looks_are_asked_for_while_there_are_processes(machine: Machine, kernel: Kernel) -> None:
    kernel.look()
    assert machine.woken == []
    pid = machine.process()
    kernel.write("a/cgroup.procs", str(pid))
    kernel.look()
    machine.runs(pid, 1)
    kernel.look()
    machine.goes(pid)
    kernel.task_exited(pid)
    kernel.look()
    assert machine.woken == [0.1, 1.0, 0.1]


# -- memory -------------------------------------------------------------------------------------------


def test_memory_is_charged_where_it_was_first_used(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 10)
    kernel.write("a/cgroup.procs", str(pid))
    machine.has(pid, 110)
    assert (mib(kernel, "a"), mib(kernel, "b")) == (100, 0)
    kernel.write("b/cgroup.procs", str(pid))
    machine.has(pid, 130)
    assert (mib(kernel, "a"), mib(kernel, "b")) == (100, 20)
    machine.has(pid, 60)
    assert (mib(kernel, "a"), mib(kernel, "b")) == (50, 0)


def test_what_is_charged_to_a_removed_cgroup_stays_above(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    kernel.write("a/c/cgroup.procs", str(pid))
    machine.has(pid, 10)
    kernel.look()
    kernel.write("b/cgroup.procs", str(pid))
    before = mib(kernel, "a")
    kernel.rmdir("a/c")
    assert before - mib(kernel, "a") < 0.1  # but for what the kernel has for the group


def test_another_program_is_charged_where_it_is_started(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 10)
    kernel.write("a/cgroup.procs", str(pid))
    machine.has(pid, 4, "cat")
    assert mib(kernel, "a") == 4


def test_a_process_that_is_gone_has_given_all_back(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("a/cgroup.procs", str(pid))
    machine.has(pid, 11)
    assert mib(kernel, "a") == 10
    machine.goes(pid)
    kernel.task_exited(pid)
    assert (mib(kernel, "a"), mib(kernel, "a", "memory.peak")) == (0, 10)


def test_the_peak_is_that_of_the_process_between_two_looks(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 1, peak=50)
    kernel.write("a/cgroup.procs", str(pid))
    machine.has(pid, 2, peak=50)
    assert mib(kernel, "a", "memory.peak") == 1
    machine.has(pid, 3, peak=70)
    assert mib(kernel, "a", "memory.peak") == 69


def test_the_memory_of_a_forked_process_is_not_read_to_list_it(machine: Machine, kernel: Kernel) -> None:
    parent = machine.process()
    machine.has(parent, 10)
    kernel.write("a/cgroup.procs", str(parent))
    child = machine.forks(parent, cgroup(kernel, "a"))
    assert kernel.read("a/cgroup.procs").split() == [str(parent), str(child)]
    assert child not in machine.asked


@pytest.mark.parametrize("look", [lambda kernel: kernel.look(), lambda kernel: kernel.read("b/memory.current")])
def test_a_forked_process_is_charged_where_it_was_forked_from_the_first_look_on(
    machine: Machine, kernel: Kernel, look: Callable[[Kernel], object]
) -> None:
    parent = machine.process()
    machine.has(parent, 10)
    kernel.write("a/cgroup.procs", str(parent))
    child = machine.forks(parent, cgroup(kernel, "b"))
    look(kernel)
    kernel.write("a/cgroup.procs", str(child))
    machine.has(child, 30)
    assert (mib(kernel, "b"), mib(kernel, "a")) == (10, 20)


def test_a_forked_process_that_moves_before_a_look_leaves_its_charges(machine: Machine, kernel: Kernel) -> None:
    parent = machine.process()
    machine.has(parent, 10)
    kernel.write("a/cgroup.procs", str(parent))
    child = machine.forks(parent, cgroup(kernel, "b"))
    kernel.write("a/cgroup.procs", str(child))
    machine.has(child, 30)
    assert (mib(kernel, "b"), mib(kernel, "a")) == (10, 20)


def test_what_a_forked_process_had_more_than_at_its_fork_is_in_the_peak_though_nobody_looked(
    machine: Machine, kernel: Kernel
) -> None:
    machine.ends = []
    parent = machine.process()
    machine.has(parent, 10)
    kernel.write("a/cgroup.procs", str(parent))
    child = machine.forks(parent, cgroup(kernel, "b"))
    kernel.read("b/cgroup.procs")
    machine.goes(child)
    machine.ends.append(End(child, child, SECOND, CpuTime(SECOND, SECOND), 50 * MIB))
    kernel.look()
    kernel.task_exited(child)
    assert (mib(kernel, "b"), mib(kernel, "b", "memory.peak")) == (0, 40)


def test_an_open_peak_starts_anew(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("a/cgroup.procs", str(pid))
    machine.has(pid, 101)
    kernel.look()
    machine.has(pid, 21)
    file = kernel.open("a/memory.peak", 2)
    file.write(b"x", Caller())
    machine.has(pid, 31)
    kernel.look()
    assert (int(file.read(0, 99)) // MIB, mib(kernel, "a", "memory.peak")) == (30, 100)


def test_statistics_add_up(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("a/cgroup.procs", str(pid))
    use = MemoryUse(anon=8 * MIB, file=4 * MIB, shmem=2 * MIB, stacks=1 << 14, tables=1 << 15)
    machine.kept[pid] = ProcessMemory(use, "cat", 14 * MIB, 14 * MIB)
    stat = dict(line.split() for line in kernel.read("a/memory.stat").splitlines())
    assert [int(stat[name]) for name in ("anon", "file", "shmem", "kernel")] == [8 * MIB, 6 * MIB, 2 * MIB, 3 << 14]
    assert int(kernel.read("a/memory.current")) == use.total
    assert f"anon N0={8 * MIB}\n" in kernel.read("a/memory.numa_stat")


def test_a_v1_group_shows_its_own_and_the_whole(machine: Machine) -> None:
    kernel = Kernel("v1", "6.1", processes=machine)
    for path in ("a", "a/b"):
        kernel.mkdir(f"memory/{path}")
        pid = machine.process()
        machine.has(pid, 1)
        kernel.write(f"memory/{path}/cgroup.procs", str(pid))
        machine.has(pid, 5, "cat")
    stat = kernel.read("memory/a/memory.stat")
    assert f"\nrss {5 * MIB}\n" in stat
    assert f"\ntotal_rss {10 * MIB}\n" in stat


def test_a_v1_group_that_is_not_hierarchical_counts_its_own(machine: Machine) -> None:
    kernel = Kernel("v1", "5.10", processes=machine)
    kernel.write("memory/memory.use_hierarchy", "0")
    kernel.mkdir("memory/a")
    kernel.mkdir("memory/a/b")
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("memory/a/b/cgroup.procs", str(pid))
    machine.has(pid, 5, "cat")
    assert int(kernel.read("memory/a/b/memory.usage_in_bytes")) == 5 * MIB
    assert int(kernel.read("memory/a/memory.usage_in_bytes")) < MIB


def test_a_process_takes_its_memory_along_where_that_is_told(machine: Machine) -> None:
    kernel = Kernel("v1", "6.1", processes=machine)
    for path in ("a", "b"):
        kernel.mkdir(f"memory/{path}")
    kernel.write("memory/b/memory.move_charge_at_immigrate", "1")
    pid = machine.process()
    machine.has(pid, 2)  # charged to the root, where it stays
    kernel.write("memory/a/cgroup.procs", str(pid))
    machine.has(pid, 7)
    kernel.write("memory/b/cgroup.procs", str(pid))
    assert [int(kernel.read(f"memory/{path}/memory.usage_in_bytes")) // MIB for path in "ab"] == [0, 5]


@pytest.mark.parametrize(
    ("bits", "anon", "file", "shmem"), [(1, True, False, False), (2, False, True, True), (3, True, True, True)]
)
def test_each_bit_has_its_kind_of_memory_move(machine: Machine, bits: int, anon: bool, file: bool, shmem: bool) -> None:
    kernel = Kernel("v1", "6.1", processes=machine)
    for path in ("a", "b"):
        kernel.mkdir(f"memory/{path}")
    kernel.write("memory/b/memory.move_charge_at_immigrate", str(bits))
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("memory/a/cgroup.procs", str(pid))
    use = MemoryUse(anon=8 * MIB, file=4 * MIB, shmem=2 * MIB, stacks=1 << 14, tables=1 << 15)
    machine.kept[pid] = ProcessMemory(use, "cat", 14 * MIB, 14 * MIB)  # started here, so charged here
    kernel.write("memory/b/cgroup.procs", str(pid))
    moved = 8 * MIB * anon + 4 * MIB * file + 2 * MIB * shmem
    assert int(kernel.read("memory/b/memory.usage_in_bytes")) == moved
    assert int(kernel.read("memory/a/memory.usage_in_bytes")) == use.total - moved


def test_only_what_the_cgroup_has_that_it_leaves_moves(machine: Machine) -> None:
    """As 6.1 has it: 8 MiB, 4 MiB and then 8, 0, 4."""
    kernel = Kernel("v1", "6.1", processes=machine)
    for path in ("a", "b", "c"):
        kernel.mkdir(f"memory/{path}")
    kernel.write("memory/c/memory.move_charge_at_immigrate", "1")
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("memory/a/cgroup.procs", str(pid))
    machine.has(pid, 9)
    kernel.write("memory/b/cgroup.procs", str(pid))
    machine.has(pid, 13)
    kernel.write("memory/c/cgroup.procs", str(pid))
    assert [int(kernel.read(f"memory/{path}/memory.usage_in_bytes")) // MIB for path in "abc"] == [8, 0, 4]


def test_locked_memory_is_on_no_other_list(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("a/cgroup.procs", str(pid))
    for locked, lists in ((3, [5, 4, 3]), (10, [0, 2, 10])):
        use = MemoryUse(anon=8 * MIB, file=4 * MIB, locked=locked * MIB)
        machine.runs(pid, 1e-6)
        machine.kept[pid] = ProcessMemory(use, "cat", 12 * MIB, 12 * MIB)
        stat = dict(line.split() for line in kernel.read("a/memory.stat").splitlines())
        assert [int(stat[name]) // MIB for name in ("inactive_anon", "active_file", "unevictable")] == lists
        assert int(stat["anon"]) == 8 * MIB


def test_faults_count_where_the_process_was_and_stay(machine: Machine, kernel: Kernel) -> None:
    def faults(path: str) -> list[int]:
        stat = dict(line.split() for line in kernel.read(f"{path}/memory.stat").splitlines())
        return [int(stat["pgfault"]), int(stat["pgmajfault"])]

    def faulted(total: int, major: int) -> None:
        machine.runs(pid, 1e-6)
        machine.kept[pid] = ProcessMemory(MemoryUse(anon=MIB), "sh", MIB, MIB, Faults(total, major))

    pid = machine.process()
    faulted(100, 7)
    kernel.write("a/cgroup.procs", str(pid))
    faulted(150, 9)
    assert faults("a") == [50, 2]
    kernel.write("b/cgroup.procs", str(pid))
    machine.kept[pid] = ProcessMemory(MemoryUse(), faults=Faults(152, 10))  # it is a zombie
    machine.exit(pid)
    kernel.task_exited(pid)
    machine.goes(pid)
    kernel.task_reaped(pid)
    assert (faults("a"), faults("b")) == ([50, 2], [2, 1])


def test_a_v1_limit_below_what_processes_have_is_busy(machine: Machine) -> None:
    kernel = Kernel("v1", "6.1", processes=machine)
    kernel.mkdir("memory/a")
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("memory/a/cgroup.procs", str(pid))
    machine.has(pid, 6)
    with pytest.raises(OSError, match="busy"):
        kernel.write("memory/a/memory.limit_in_bytes", str(5 * MIB - 4096))
    kernel.write("memory/a/memory.limit_in_bytes", str(5 * MIB))


def test_a_v2_limit_below_what_processes_have_is_taken_and_noted(machine: Machine, kernel: Kernel) -> None:
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("a/cgroup.procs", str(pid))
    machine.has(pid, 6)
    kernel.write("a/memory.max", str(MIB))
    assert "\noom 1\noom_kill 0\n" in kernel.read("a/memory.events")


def test_a_threshold_is_heard_of_at_each_crossing(machine: Machine) -> None:
    kernel = Kernel("v1", "6.1", processes=machine)
    kernel.mkdir("memory/a")
    heard: list[int] = []
    usage = kernel.walk("memory/a/memory.usage_in_bytes")
    files = {3: EventFd(lambda: heard.append(1)), 4: usage}
    kernel.write("memory/a/cgroup.event_control", "3 4 8M", Caller(files=files.get))
    pid = machine.process()
    machine.has(pid, 1)
    kernel.write("memory/a/cgroup.procs", str(pid))
    counts = []
    for mib in (2, 9, 10, 20, 9, 8, 1, 9):
        machine.has(pid, mib)
        kernel.look()
        counts.append(len(heard))
    assert counts == [0, 1, 1, 1, 1, 2, 2, 3]
    assert machine.woken[-1] == 0.05
