"""cpuset: lists of CPUs and nodes, effective sets, partitions (v2), exclusive and inherited sets (v1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import each_read_back, padded, parser_cases, short_parser_cases

#: List syntax on a machine with CPUs 0-3 and nodes 0-1.
_LISTS: list[Any] = [
    "0", "3", "0-3", "0-1", "1-1", "0,2", "2,0", "0,1,2,3", "3,0-1", "0-1,1-2", "0,0", "0,", ",0", "0,,1", ",", ",,",
    "0 1", "0, 1", "1 ,2", " 0 ", "\t1\t",
    "0\n", "0\n1", "0\n\n", "\n0", "0-2\n", "00", "01", "001-003", "0-3:1/2", "0-3:2/2", "0-3:0/2", "0-3:1",
    "0-3:1/0", "0-3:3/2", "0-3:1/1", "0-3:4/4",
    "0-1:1/2,3", "0:1/1", "4", "0-4", "3-4", "5", "63", "64", "127", "128", "255", "256", "1023", "1024", "65535",
    "65536", "1000000", "2147483647",
    "2147483648", "4294967295", "4294967296", "99999999999", "18446744073709551616", "2-1", "0-", "-1", "-", "--",
    "a", "0x1", "0xf", "+1", "1.0", "0;1", "0-1-2",
    "0..3", "^1", "!0", "none", "max", "all", "all\n", "All", "all,1", "0,all", "N", "0-N", "N-N", "n", "1-N",
    "0-N:1/2", "N,0", "-N", "0\0", "0\0junk", "\0", "1 2 3",
    "0,x", "x,0", "3,3,3,3", "0-0", "1,2-3", "1", "", "\n", " ", "\t", "0-1",
]  # fmt: skip
_LONG: list[Any] = [
    padded("0", " ", 4096), padded("0", " ", 4097), padded("0", ",", 6000), {"repeat": ["0,", 3000]},
    {"repeat": ["1,", 24000]}, {"repeat": ["1,", 24626]},
    {"repeat": ["1,", 24627]}, {"repeat": ["x", 50000]}, padded("1", " ", 6244), padded("1", " ", 6245),
    padded("1", " ", 49252), padded("1", " ", 49253),
]  # fmt: skip


def cases() -> Iterator[Case]:
    yield from _v2()
    yield from _partitions()
    yield from _v1()


def _v2() -> Iterator[Case]:
    setup = child("v2", "cpuset")
    for name in ("cpus", "mems", "cpus.exclusive"):
        path, effective = f"a/cpuset.{name}", f"a/cpuset.{name}.effective"
        yield Case(f"cpuset.{name} parses a list", "v2", (
            *setup, ("read", path), *(op for value in _LISTS for op in (("write", path, value), ("read", path),
            ("read", effective)))))  # fmt: skip
        yield Case(f"cpuset.{name} takes long lists", "v2", (*setup, *each_read_back(path, _LONG)))
    yield from parser_cases(
        "v2",
        "a/cpuset.cpus.partition",
        setup,
        "member",
        ["root", "member", "isolated", "root\n", " member ", "Root", "rootx", "invalid"],
    )
    for name in ("cpus.effective", "mems.effective", "cpus.exclusive.effective"):
        yield from short_parser_cases("v2", f"a/cpuset.{name}", setup)
    for name in ("cpus.effective", "mems.effective", "cpus.isolated", "cpus", "mems", "cpus.partition"):
        yield Case(
            f"cpuset.{name} of the root",
            "v2",
            (("read", f"cpuset.{name}"), *each_read_back(f"cpuset.{name}", ["", "0", "\n", "abc"])),
        )
    tree = child("v2", "cpuset", "a", "a/b", "a/b/c")

    def look(*groups: str) -> list[tuple[Any, ...]]:
        return [
            ("read", f"{g}/cpuset.{n}") for g in groups for n in ("cpus", "cpus.effective", "mems", "mems.effective")
        ]

    def cpus(group: str, value: str) -> tuple[str, str, str]:
        return ("write", f"{group}/cpuset.cpus", value)

    def mems(group: str, value: str) -> tuple[str, str, str]:
        return ("write", f"{group}/cpuset.mems", value)

    yield Case("effective sets follow the parent", "v2", (
        *tree, *look("a", "a/b"), cpus("a", "0-1"), *look("a", "a/b"), cpus("a/b", "1-2"), *look("a/b", "a/b/c"),
        cpus("a/b", "2-3"), *look("a/b", "a/b/c"),
        cpus("a", "2"), *look("a", "a/b"), cpus("a", "\n"), *look("a", "a/b", "a/b/c"), mems("a", "0"),
        mems("a/b", "1"), *look("a/b"), mems("a", "1"),
        *look("a/b"), mems("a", "\n"), *look("a", "a/b"), ("write", "a/cgroup.subtree_control", "-cpuset"),
        ("read", "a/b/cpuset.cpus")))  # fmt: skip
    yield Case("shrinking a parent below its child", "v2", (
        *tree, cpus("a", "0-3"), cpus("a/b", "0-2"), cpus("a", "0-1"), *look("a", "a/b"), mems("a", "0-1"),
        mems("a/b", "0-1"), mems("a", "0"), *look("a", "a/b"),
        cpus("a", "3"), *look("a", "a/b"), cpus("a/b", "\n"), cpus("a", "3"), *look("a", "a/b")))  # fmt: skip
    yield Case("cpuset with processes inside", "v2", (
        *setup, ("fork", "w"), ("affinity", "w"), cpus("a", "1"), ("write", "a/cgroup.procs", "$w"),
        ("affinity", "w"), cpus("a", "2-3"), ("affinity", "w"),
        cpus("a", "\n"), ("affinity", "w"), cpus("a", "0"), ("write", "cgroup.procs", "$w"),
        ("affinity", "w")))  # fmt: skip
    yield Case("cpuset is gone after the controller was off", "v2", (
        *setup, cpus("a", "1"), mems("a", "1"), ("write", "cgroup.subtree_control", "-cpuset"),
        ("write", "cgroup.subtree_control", "+cpuset"), *look("a")))  # fmt: skip
    yield Case("siblings and cpus.exclusive", "v2", (
        *setup, ("mkdir", "b"), *each_read_back("a/cpuset.cpus.exclusive", ["0-1"]),
        *each_read_back("b/cpuset.cpus.exclusive", ["1-2", "2-3"]),
        *each_read_back("b/cpuset.cpus", ["0-3"]), *each_read_back("a/cpuset.cpus.exclusive", ["0-2", "\n"]),
        ("read", "a/cpuset.cpus.exclusive.effective"),
        *look("a", "b")))  # fmt: skip
    nested = (*child("v2", "cpuset", "a", "a/b"), ("read", "a/b/cpuset.cpus.exclusive"))
    yield Case("cpus.exclusive of a child and its parent", "v2", (
        *nested, *each_read_back("a/b/cpuset.cpus.exclusive", ["0"]), *each_read_back("a/cpuset.cpus.exclusive",
        ["0-1"]),
        *each_read_back("a/b/cpuset.cpus.exclusive", ["0", "2", "0-1"]), *each_read_back("a/cpuset.cpus.exclusive",
        ["0", "\n"]),
        ("read", "a/b/cpuset.cpus.exclusive"), ("read", "a/b/cpuset.cpus.exclusive.effective")))  # fmt: skip


def _partitions() -> Iterator[Case]:
    clean = (("read", "cpuset.cpus.effective"), ("read", "cpuset.cpus.isolated"))  # nothing left by a case before
    setup = (*clean, *child("v2", "cpuset", "a", "b"))

    def part(group: str, value: str) -> list[tuple[Any, ...]]:
        path = f"{group}/cpuset.cpus.partition"
        return [("write", path, value), ("settle", 20), ("read", path)]

    def look(*groups: str) -> list[tuple[Any, ...]]:
        return [("settle", 100), ("read", "cpuset.cpus.effective"), ("read", "cpuset.cpus.isolated"),
            *(("read", f"{g}/cpuset.{n}") for g in groups for n in (
            "cpus", "cpus.effective", "cpus.exclusive", "cpus.exclusive.effective", "cpus.partition"))]  # fmt: skip

    def cpus(group: str, value: str) -> tuple[str, str, str]:
        return ("write", f"{group}/cpuset.cpus", value)

    def tidy(*groups: str) -> list[tuple[Any, ...]]:
        """Kernels lose CPUs of partitions that end badly; a partition with them that ends well brings them back."""
        state = "cpuset.cpus.partition"
        ops: list[tuple[Any, ...]] = [("mkdir", "t")]
        for group in groups:
            ops += [("write", f"{group}/{state}", "member"), cpus(group, "\n")]
        for half in ("0-1", "2-3", "0-1"):
            ops += [cpus("t", half), ("write", f"t/{state}", "isolated"), ("write", f"t/{state}", "member")]
        return [*ops, *look("t")]

    yield Case("a partition that ends up with what its last sibling has", "v2", (
        *clean, *child("v2", "cpuset", "a", "a/c", "a/d"), *part("a", "root"), cpus("a/c", "1"), cpus("a/d", "3"),
        *part("a/d", "root"), cpus("a", "3"), *look("a", "a/c", "a/d"), *tidy("a/d", "a/c", "a")))  # fmt: skip
    yield Case("no task enters a partition without a CPU", "v2", (
        *clean, ("fork", "w"), *child("v2", "cpuset", "a", "a/b"), cpus("a", "0-1"), *part("a", "root"),
        cpus("a/b", "0-1"), *part("a/b", "root"), *look("a", "a/b"), ("write", "a/cgroup.procs", "$w"),
        ("write", "a/b/cgroup.procs", "$w"), cpus("a/b", "0"), *look("a", "a/b"), ("write", "a/cgroup.procs", "$w"),
        cpus("a/b", "0-1"), *look("a", "a/b"), ("write", "cgroup.procs", "$w"), *tidy("a/b", "a")))  # fmt: skip
    yield Case("a remote partition is the superuser's to make", "v2", (
        *clean, *child("v2", "cpuset", "a", "a/b"), ("write", "a/cpuset.cpus.exclusive", "0-1"), cpus("a/b", "0-1"),
        ("write", "a/b/cpuset.cpus.exclusive", "0"), ("chown", "a/b/cpuset.cpus.partition", 1000, 1000),
        ("chown", "a/b/cpuset.cpus.exclusive", 1000, 1000), ("chown", "a/b/cpuset.cpus", 1000, 1000),
        ("as", 1000, 1000), *part("a/b", "isolated"), *part("a/b", "root"), *look("a", "a/b"), ("as", 0, 0),
        *part("a/b", "root"), ("as", 1000, 1000), cpus("a/b", "0"), *look("a/b"),
        ("write", "a/b/cpuset.cpus.exclusive", "0-1"), *look("a/b"), *part("a/b", "member"), ("as", 0, 0),
        *look("a/b")))  # fmt: skip
    for kind in ("root", "isolated"):
        yield Case(f"a {kind} partition and back", "v2", (
            *setup, cpus("a", "0-1"), *part("a", kind), *look("a", "b"), *part("a", "member"), *look("a", "b"),
            *part("a", kind), *look("a"), ("rmdir", "a"),
            ("until", "cpuset.cpus.effective", "0-3"), *look("b")))  # fmt: skip
        yield Case(f"a {kind} partition without CPUs", "v2", (
            *setup, *part("a", kind), *look("a"), cpus("a", "0-1"), *look("a"), cpus("a", "\n"), *look("a"),
            *part("a", "member"), *tidy()))  # fmt: skip
        yield Case(f"a {kind} partition with all CPUs", "v2", (
            *setup, cpus("a", "0-3"), *part("a", kind), *look("a"), cpus("a", "0-2"), *look("a"), *part("a", kind),
            *look("a", "b")))  # fmt: skip
        yield Case(f"a {kind} partition whose CPUs a sibling has", "v2", (
            *setup, cpus("a", "0-1"), cpus("b", "1-2"), *part("a", kind), *look("a", "b"), cpus("b", "2-3"),
            *look("a", "b")))  # fmt: skip
        yield Case(f"a sibling takes a CPU of a {kind} partition", "v2", (
            *setup, cpus("a", "0-1"), *part("a", kind), cpus("b", "1-2"), *look("a", "b"), cpus("b", "2"),
            *look("a", "b"), *part("b", kind), *look("a", "b")))  # fmt: skip
        yield Case(f"a {kind} partition grows and shrinks", "v2", (
            *setup, cpus("a", "0-1"), *part("a", kind), cpus("a", "0"), *look("a"), cpus("a", "0-2"), *look("a"),
            cpus("a", "0-3"), *look("a"), cpus("a", "3"),
            *look("a"), cpus("a", "\n"), *look("a"), *tidy("a")))  # fmt: skip
        nested = (*clean, *child("v2", "cpuset", "a", "a/b"))
        yield Case(f"a {kind} partition under a member", "v2", (
            *nested, cpus("a", "0-2"), cpus("a/b", "0"), *part("a/b", kind), *look("a", "a/b"), *part("a", "root"),
            *look("a", "a/b"), *part("a/b", kind),
            *look("a", "a/b"), *part("a", "member"), *look("a", "a/b"), *tidy("a/b", "a")))  # fmt: skip
        yield Case(f"a {kind} partition inside a partition", "v2", (
            *nested, cpus("a", "0-2"), *part("a", "root"), cpus("a/b", "0-1"), *part("a/b", kind), *look("a", "a/b"),
            cpus("a", "1-3"), *look("a", "a/b"),
            ("rmdir", "a/b"), ("settle", 300), *look("a"), *tidy("a")))  # fmt: skip
        yield Case(f"a remote {kind} partition", "v2", (
            *nested, cpus("a", "0-2"), ("write", "a/cpuset.cpus.exclusive", "0-1"), cpus("a/b", "0-1"),
            ("write", "a/b/cpuset.cpus.exclusive", "0"),
            *part("a/b", kind), *look("a", "a/b"), ("write", "a/cpuset.cpus.exclusive", "1"), *look("a", "a/b"),
            *part("a/b", "member"), *look("a", "a/b")))  # fmt: skip
        yield Case(f"a {kind} partition with children and processes", "v2", (
            *nested, ("fork", "w"), ("write", "a/b/cgroup.procs", "$w"), cpus("a", "0-1"), *part("a", kind),
            ("affinity", "w"), cpus("a/b", "1"), ("affinity", "w"),
            *part("a", "member"), ("affinity", "w"), *look("a", "a/b")))  # fmt: skip
    yield Case("from root to isolated", "v2", (
        *setup, cpus("a", "0-1"), *part("a", "root"), *part("a", "isolated"), *look("a"), *part("a", "root"),
        *look("a"), *part("a", "root")))  # fmt: skip
    yield Case("turning cpuset off takes the partition away", "v2", (
        *setup, cpus("a", "0-1"), *part("a", "root"), ("write", "cgroup.subtree_control", "-cpuset"),
        ("until", "cpuset.cpus.effective", "0-3"),
        ("write", "cgroup.subtree_control", "+cpuset"), *look("a")))  # fmt: skip
    yield Case("a partition's change is notified", "v2", (
        *setup, cpus("a", "0-1"), ("open", "h", "a/cpuset.cpus.partition"), ("fread", "h", 100),
        ("poll", "h", "IN|PRI"), *part("a", "root"), ("settle", 30),
        ("poll", "h", "IN|PRI"), ("fpread", "h", 100, 0), ("poll", "h", "IN|PRI"), cpus("b", "0"), ("settle", 30),
        ("poll", "h", "IN|PRI"),
        ("fpread", "h", 100, 0)))  # fmt: skip


_FLAGS = (
    "cpu_exclusive",
    "mem_exclusive",
    "mem_hardwall",
    "memory_migrate",
    "memory_spread_page",
    "memory_spread_slab",
    "sched_load_balance",
)


def _v1() -> Iterator[Case]:
    setup = child("v1", "cpuset")
    a, b = "cpuset/a/cpuset.", "cpuset/a/b/cpuset."
    for name in ("cpus", "mems"):
        yield Case(f"cpuset.{name} parses a list on v1", "v1", (
            *setup, ("read", a + name), *(op for value in _LISTS for op in
            (("write", a + name, value), ("read", a + name), ("read", f"{a}effective_{name}")))))  # fmt: skip
        yield Case(f"cpuset.{name} takes long lists on v1", "v1", (*setup, *each_read_back(a + name, _LONG)))
    for name in _FLAGS:
        yield from parser_cases("v1", a + name, setup, "1", ["0", "1", "2"])
    yield from parser_cases(
        "v1", a + "sched_relax_domain_level", setup, "1", ["-2", "-1", "0", "1", "2", "3", "4", "5", "6"]
    )
    for name in ("effective_cpus", "effective_mems", "memory_pressure"):
        yield from short_parser_cases("v1", a + name, setup)
    for name in (
        "cpus",
        "mems",
        *_FLAGS,
        "sched_relax_domain_level",
        "memory_pressure_enabled",
        "memory_pressure",
        "effective_cpus",
    ):
        path = f"cpuset/cpuset.{name}"
        yield Case(
            f"cpuset.{name} of the v1 root",
            "v1",
            (("read", path), *each_read_back(path, ["", "\n", "0", "1", "0-3", "abc", "4294967296"])),
        )
    tree = child("v1", "cpuset", "a", "a/b", "c")
    give = (("write", a + "cpus", "0-2"), ("write", a + "mems", "0-1"))
    yield Case("tasks need CPUs and nodes", "v1", (
        *setup, ("fork", "w"), ("write", "cpuset/a/tasks", "$w"), ("write", a + "cpus", "0"),
        ("write", "cpuset/a/tasks", "$w"), ("write", a + "mems", "0"),
        ("write", "cpuset/a/tasks", "$w"), ("affinity", "w"), *each_read_back(a + "cpus", ["1", "\n", ","]),
        ("affinity", "w"), *each_read_back(a + "mems", ["1", "\n"]),
        ("write", "cpuset/tasks", "$w"), ("affinity", "w"), *each_read_back(a + "cpus", ["\n"])))  # fmt: skip
    yield Case("a v1 child stays within its parent", "v1", (
        *tree, *each_read_back(b + "cpus", ["0"]), *give, *each_read_back(b + "cpus", ["0-1", "3", "0-3"]),
        *each_read_back(b + "mems", ["0", "1", "0-1"]),
        *each_read_back(a + "cpus", ["0", "0-1", "1-2", "\n"]), *each_read_back(a + "mems", ["0", "1", "\n"]),
        *each_read_back(b + "cpus", ["\n"]),
        *each_read_back(a + "cpus", ["3", "\n"])))  # fmt: skip
    yield Case("exclusive sets on v1", "v1", (
        *tree, *give, *each_read_back(a + "cpu_exclusive", ["1"]), *each_read_back("cpuset/c/cpuset.cpus",
        ["0", "3", "2-3"]),
        *each_read_back(b + "cpu_exclusive", ["1"]), *each_read_back(b + "cpus", ["0-1"]),
        *each_read_back(a + "cpu_exclusive", ["0"]),
        *each_read_back(b + "cpu_exclusive", ["0"]), *each_read_back(a + "cpu_exclusive", ["0"]),
        ("write", "cpuset/c/cpuset.cpus", "2-3"),
        *each_read_back(a + "cpu_exclusive", ["1"]), *each_read_back("cpuset/c/cpuset.cpu_exclusive", ["1"]),
        *each_read_back(a + "mem_exclusive", ["1"]), *each_read_back("cpuset/c/cpuset.mems", ["0"])))  # fmt: skip
    inherit = ("cpus", "mems", "effective_cpus", *_FLAGS)
    yield Case("clone_children copies cpuset", "v1", (
        *setup, *give, *(("write", a + f, "1") for f in ("memory_migrate", "mem_hardwall", "memory_spread_page",
        "memory_spread_slab")),
        ("write", a + "sched_load_balance", "0"), ("mkdir", "cpuset/a/b"), *(("read", b + f) for f in inherit),
        ("rmdir", "cpuset/a/b"),
        ("write", "cpuset/a/cgroup.clone_children", "1"), ("mkdir", "cpuset/a/b"),
        *(("read", b + f) for f in inherit), ("mkdir", "cpuset/a/c"),
        ("read", "cpuset/a/c/cpuset.cpus"), ("write", b + "cpu_exclusive", "1"), ("mkdir", "cpuset/a/d"),
        ("read", "cpuset/a/d/cpuset.cpus"),
        ("read", "cpuset/a/d/cgroup.clone_children")))  # fmt: skip
