"""What a kernel reclaims from real processes is taken from what files show."""

from __future__ import annotations

import pytest

from fakecgroup import Kernel, MemoryUse, ProcessMemory, ProcessTable
from fakecgroup.controllers.memory.css import Memory
from fakecgroup_mount.enforce.paging import Paging
from fakecgroup_mount.host.taken_pages import TakenPages

MIB = 1 << 20


class Table(ProcessTable):
    """Processes of which pages can be taken, as of real ones."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = TakenPages()

    def memory(self, tgid: int) -> ProcessMemory:
        return self.taken.left(tgid, super().memory(tgid))


class Machine:
    """A tree with process `tgid` in the cgroup a."""

    def __init__(self, layout: str, swap: int = 0) -> None:
        self.table = Table()
        self.kernel = Kernel(layout, processes=self.table, swap=swap)
        self.home = "a" if layout == "v2" else "memory/a"
        if layout == "v2":
            self.kernel.write("cgroup.subtree_control", "+memory")
        self.kernel.mkdir(self.home)
        self.tgid = self.table.add()
        self.kernel.write(f"{self.home}/cgroup.procs", str(self.tgid))
        hierarchy = next(one for one in self.kernel.hierarchies if one.counts_memory)
        self.paging = Paging(hierarchy, self.table, self.table.taken)
        css = hierarchy.root.children["a"].csses["memory"]
        assert isinstance(css, Memory)
        self.css = css

    def has(self, anon: int, file: int = 0) -> None:
        """The process has so many MiB from now on."""
        self.table.memory_of = lambda tgid: MemoryUse(anon * MIB, file * MIB)
        self.kernel.membership.memory.start(self.tgid, self.css.cgroup)
        self.css.used()

    def read(self, name: str) -> str:
        return self.kernel.read(f"{self.home}/{name}")


@pytest.fixture
def v2() -> Machine:
    return Machine("v2", swap=64 * MIB)


def test_what_is_over_the_limit_goes_to_swap(v2: Machine) -> None:
    v2.kernel.write("a/memory.max", "30M")
    v2.has(50)
    v2.paging.fit(v2.css)
    assert (v2.read("memory.current"), v2.read("memory.swap.current")) == (f"{30 * MIB}\n", f"{20 * MIB}\n")
    assert "max 80\noom 0\n" in v2.read("memory.events")


def test_pages_of_files_go_first_and_count_no_event(v2: Machine) -> None:
    v2.kernel.write("a/memory.max", "30M")
    v2.has(28, file=5)
    v2.paging.fit(v2.css)
    assert (v2.read("memory.current"), v2.read("memory.swap.current")) == (f"{30 * MIB}\n", "0\n")
    assert "max 0\n" in v2.read("memory.events")


def test_swap_is_limited(v2: Machine) -> None:
    v2.kernel.write("a/memory.max", "30M")
    v2.kernel.write("a/memory.swap.max", "5M")
    v2.has(50)
    v2.paging.fit(v2.css)
    assert (v2.read("memory.current"), v2.read("memory.swap.current")) == (f"{45 * MIB}\n", f"{5 * MIB}\n")


def test_over_memory_high_it_is_counted_there(v2: Machine) -> None:
    v2.kernel.write("a/memory.high", "30M")
    v2.has(50)
    v2.paging.fit(v2.css)
    assert (v2.read("memory.current"), v2.read("memory.swap.current")) == (f"{30 * MIB}\n", f"{20 * MIB}\n")
    assert "high 80\nmax 0\n" in v2.read("memory.events")


def test_without_swap_nothing_is_found() -> None:
    machine = Machine("v2")
    machine.has(50)
    assert machine.paging.take(machine.css.cgroup, 100).pages == 0


def test_v1_counts_failures() -> None:
    machine = Machine("v1", swap=64 * MIB)
    machine.kernel.write("memory/a/memory.limit_in_bytes", "30M")
    machine.has(50)
    machine.paging.fit(machine.css)
    assert machine.read("memory.usage_in_bytes") == f"{30 * MIB}\n"
    assert machine.read("memory.memsw.usage_in_bytes") == f"{50 * MIB}\n"
    assert machine.read("memory.failcnt") == "160\n"


def test_shared_memory_goes_to_swap_after_anonymous_memory() -> None:
    taken = TakenPages()
    taken.take(7, None, swapped=30 * MIB)
    left = taken.left(7, ProcessMemory(MemoryUse(anon=10 * MIB, shmem=40 * MIB)))
    assert (left.use.anon, left.use.shmem, left.use.swap) == (0, 20 * MIB, 30 * MIB)
