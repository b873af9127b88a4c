"""What the kernel's own memory for a child costs its parent: limits below it, and children that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import each_read_back

_PAGE = 4096


def cases() -> Iterator[Case]:
    yield from _v1()
    yield from _v2()


def _v1() -> Iterator[Case]:
    a, b = "memory/a/memory.", "memory/a/b/memory."
    limit, kmem, fails = a + "limit_in_bytes", a + "kmem.limit_in_bytes", ("read", a + "failcnt")
    pages = [str(n * _PAGE) for n in range(10)]
    for tree in (("a",), ("a", "a/b"), ("a", "a/b", "a/c"), ("a", "a/b", "a/b/c")):
        made = child("v1", "memory", *tree)
        yield Case(f"a limit above {' '.join(tree)}", "v1", (*made, *each_read_back(limit, pages)))
        yield Case(f"a kernel memory limit above {' '.join(tree)}", "v1", (*made, *each_read_back(kmem, pages)))
    rooms: list[tuple[Any, ...]] = []
    for n in (0, 1, 2, 3, 4, 5):
        group = f"memory/r{n}"
        rooms += [("mkdir", group), ("write", f"{group}/memory.limit_in_bytes", pages[n]), ("mkdir", f"{group}/x"),
                  ("mkdir", f"{group}/y"), ("read", f"{group}/memory.failcnt"), ("listdir", group)]  # fmt: skip
    yield Case("a v1 child without room in its parent", "v1", tuple(rooms))
    yield Case("a v1 child without room above its parent", "v1", (
        *child("v1", "memory", "a", "a/b"), ("write", limit, str(5 * _PAGE)), ("mkdir", "memory/a/b/c"), fails,
        ("read", b + "failcnt"), ("write", a + "failcnt", "0"), fails, ("write", limit, str(8 * _PAGE)),
        ("mkdir", "memory/a/b/c"), ("write", limit, str(7 * _PAGE)), *each_read_back(b + "limit_in_bytes", pages[3:5]),
        ("mkdir", "memory/a/b/d")))  # fmt: skip
    yield Case("a child over the limits of swap and kernel memory", "v1", (
        *child("v1", "memory"), ("write", limit, str(_PAGE)), ("write", a + "memsw.limit_in_bytes", str(_PAGE)),
        ("mkdir", "memory/a/b"), fails, ("read", a + "memsw.failcnt"), ("write", a + "memsw.limit_in_bytes", "-1"),
        ("write", limit, "-1"), ("write", kmem, str(_PAGE)), ("mkdir", "memory/a/b"), fails,
        ("read", a + "kmem.failcnt")))  # fmt: skip
    events: tuple[Any, ...] = tuple(("eventcount", name) for name in "efg")
    yield Case("a child without room is signalled", "v1", (
        *child("v1", "memory", "a", "a/b", "a/b/c"), *(("eventfd", name) for name in "efg"),
        ("open", "o", a + "oom_control"), ("open", "p", b + "oom_control"),
        ("open", "q", "memory/a/b/c/memory.oom_control"),
        ("write", "memory/a/cgroup.event_control", "$e $o"), ("write", "memory/a/b/cgroup.event_control", "$f $p"),
        ("write", "memory/a/b/c/cgroup.event_control", "$g $q"), ("write", b + "limit_in_bytes", str(4 * _PAGE)),
        ("mkdir", "memory/a/b/d"), *events, ("write", b + "oom_control", "1"), ("mkdir", "memory/a/b/d"), *events,
        ("read", b + "oom_control")))  # fmt: skip


def _v2() -> Iterator[Case]:
    setup = child("v2", "memory")
    look = tuple(("read", f"a/memory.{name}") for name in ("events", "events.local"))
    for n in (0, 1, 3, 4, 7):
        yield Case(f"children in {n} pages", "v2", (
            *setup, ("write", "a/memory.max", str(n * _PAGE)), ("mkdir", "a/x"), ("stat", "a/x/memory.max"),
            ("write", "a/cgroup.subtree_control", "+memory"), ("read", "a/cgroup.subtree_control"),
            ("stat", "a/x/memory.max"), ("mkdir", "a/y"), ("mkdir", "a/z"), *look))  # fmt: skip
    yield Case("enabling memory without room changes nothing", "v2", (
        *setup, ("write", "cgroup.subtree_control", "+pids"), ("mkdir", "a/x"), ("mkdir", "a/y"), ("mkdir", "a/z"),
        ("write", "a/memory.max", str(5 * _PAGE)), ("write", "a/cgroup.subtree_control", "+pids"),
        ("write", "a/cgroup.subtree_control", "+memory -pids"), ("read", "a/cgroup.subtree_control"),
        ("listdir", "a/x"), ("listdir", "a/z"), ("write", "a/memory.max", "1M"),
        ("write", "a/cgroup.subtree_control", "+memory"), ("mkdir", "a/x/m"), ("write", "a/x/memory.max", "8192"),
        ("write", "a/x/cgroup.subtree_control", "+memory"),
        *look, ("read", "a/x/memory.events"), ("read", "a/x/memory.events.local")))  # fmt: skip
    yield Case("a memory limit below the children's memory is taken", "v2", (
        *setup, ("write", "a/cgroup.subtree_control", "+memory"), ("mkdir", "a/x"), ("write", "a/memory.max", "0"),
        ("read", "a/memory.max"), *look, ("mkdir", "a/y"), ("write", "a/cgroup.subtree_control", "-memory"),
        ("mkdir", "a/y"), ("write", "a/memory.high", "0"), ("write", "a/memory.max", "max"),
        ("write", "a/cgroup.subtree_control", "+memory")))  # fmt: skip
