"""Huge pages of real processes, as booted 6.1, 6.12 and 7.2 counted them."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from fakecgroup import FilePage, HugePages, Kernel, MemoryUse, ProcessMemory, ProcessTable

SIZE = 2 << 20


class Table(ProcessTable):
    """Processes that have the huge pages `kept`."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[int, HugePages] = {}

    def memory(self, tgid: int) -> ProcessMemory:
        return ProcessMemory(MemoryUse(), huge_pages=self.kept.get(tgid, HugePages()))


class Machine:
    """The cgroups a, a/b and c, and processes."""

    def __init__(self, layout: str) -> None:
        self.table = Table()
        self.kernel = Kernel(layout, processes=self.table, hugepages="2Mi=16")
        self.top = "" if layout == "v2" else "hugetlb/"
        self.file = "hugetlb.2MB.{}current" if layout == "v2" else "hugetlb.2MB.{}usage_in_bytes"
        if layout == "v2":
            self.kernel.write("cgroup.subtree_control", "+hugetlb")
        self.kernel.mkdir(f"{self.top}a")
        if layout == "v2":
            self.kernel.write("a/cgroup.subtree_control", "+hugetlb")
        self.kernel.mkdir(f"{self.top}a/b")
        self.kernel.mkdir(f"{self.top}c")

    def start(self, cgroup: str) -> int:
        tgid = self.table.add()
        self.move(tgid, cgroup)
        return tgid

    def move(self, tgid: int, cgroup: str) -> None:
        self.kernel.write(f"{self.top}{cgroup}/cgroup.procs", str(tgid))

    def used(self) -> tuple[str, ...]:
        """Pages in use and reserved, of a, a/b and c."""

        def pages(cgroup: str, kind: str) -> int:
            return int(self.kernel.read(f"{self.top}{cgroup}/{self.file.format(kind)}")) // SIZE

        return tuple(f"{pages(cgroup, '')}/{pages(cgroup, 'rsvd.')}" for cgroup in ("a", "a/b", "c"))


@pytest.fixture(params=["v2", "v1"])
def machine(request: pytest.FixtureRequest) -> Machine:
    return Machine(request.param)


def private(*pages: int, mapped: int = 4) -> HugePages:
    """Of one mapping, with these pages touched."""
    return HugePages({("map", page): SIZE for page in pages}, {"map": (SIZE, mapped * SIZE)})


def test_pages_stay_charged_where_they_were_touched(machine: Machine) -> None:
    tgid = machine.start("a/b")
    machine.table.kept[tgid] = private()
    assert machine.used() == ("0/4", "0/4", "0/0")
    machine.table.kept[tgid] = private(0, 1)
    assert machine.used() == ("2/4", "2/4", "0/0")
    machine.move(tgid, "c")
    machine.table.kept[tgid] = private(0, 1, 2)
    assert machine.used() == ("2/4", "2/4", "1/0")
    machine.table.kept[tgid] = private(1, 2)
    assert machine.used() == ("1/4", "1/4", "1/0")
    del machine.table.kept[tgid]
    assert machine.used() == ("0/0", "0/0", "0/0")


def test_what_is_touched_before_a_move_is_seen_at_the_move(machine: Machine) -> None:
    tgid = machine.start("a/b")
    machine.table.kept[tgid] = private(0, 1)
    machine.move(tgid, "c")
    assert machine.used() == ("2/4", "2/4", "0/0")


def test_a_page_that_processes_share_counts_once(machine: Machine) -> None:
    parent, child = machine.start("a/b"), machine.start("c")
    machine.table.kept[parent] = private(0, 1)
    assert machine.used() == ("2/4", "2/4", "0/0")
    machine.table.kept[child] = HugePages({("map", 0): SIZE, ("map", 1): SIZE})
    assert machine.used() == ("2/4", "2/4", "0/0")
    del machine.table.kept[parent]
    assert machine.used() == ("2/0", "2/0", "0/0")
    del machine.table.kept[child]
    assert machine.used() == ("0/0", "0/0", "0/0")


def test_a_page_of_a_file_stays_while_somebody_maps_the_file(machine: Machine) -> None:
    parent, child = machine.start("a/b"), machine.start("c")
    reserved: dict[Hashable, tuple[int, int]]
    reserved, files = {"shm": (SIZE, 3 * SIZE)}, frozenset({"shm"})
    machine.table.kept[parent] = HugePages({}, reserved, files)
    assert machine.used() == ("0/3", "0/3", "0/0")
    machine.table.kept[child] = HugePages({FilePage("shm", 1): SIZE}, reserved, files)
    assert machine.used() == ("0/3", "0/3", "1/0")
    del machine.table.kept[child]
    assert machine.used() == ("0/3", "0/3", "1/0")
    del machine.table.kept[parent]
    assert machine.used() == ("0/0", "0/0", "0/0")


def test_the_peak_and_a_limit_below_the_usage() -> None:
    machine = Machine("v1")
    tgid = machine.start("c")
    machine.table.kept[tgid] = private(0, 1, 2)
    machine.used()
    machine.table.kept[tgid] = private(0)
    assert machine.used()[2] == "1/4"
    assert machine.kernel.read("hugetlb/c/hugetlb.2MB.max_usage_in_bytes") == f"{3 * SIZE}\n"
    machine.kernel.write("hugetlb/c/hugetlb.2MB.limit_in_bytes", f"{SIZE}")
    machine.table.kept[tgid] = private(0, 1)
    assert machine.used()[2] == "2/4"
    assert machine.kernel.read("hugetlb/c/hugetlb.2MB.failcnt") == "0\n"
