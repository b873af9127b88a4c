"""pids: limits, counting, refused forks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import at, child, root
from fakecgroup.conformance.cases.values import each_read_back, parser_cases, short_parser_cases


def cases() -> Iterator[Case]:
    for layout in ("v2", "v1"):
        yield from _both(layout)


def _both(layout: str) -> Iterator[Case]:
    def f(path: str) -> str:
        return at(layout, "pids", path)

    def counts(*groups: str) -> list[tuple[Any, ...]]:
        names = ("pids.current", "pids.peak", "pids.events", "pids.events.local")
        return [("read", f(f"{group}/{name}")) for group in groups for name in names]

    setup = child(layout, "pids")
    edges = ["0", "1", "4194303", "4194304", "4194305", "max", "32768", "-1"]
    yield from parser_cases(layout, f("a/pids.max"), setup, "9", edges)
    for name in ("pids.current", "pids.peak", "pids.events", "pids.events.local"):
        yield from short_parser_cases(layout, f(f"a/{name}"), setup)
    yield Case("the root has no pids files", layout, (
        ("read", at(layout, "pids", "pids.max")), ("read", f("pids.current")), ("write", f("pids.max"), "5"),
        ("stat", root(layout))))  # fmt: skip
    yield Case("moving in is never refused", layout, (
        *setup, ("fork", "w"), ("fork", "x"), ("write", f("a/pids.max"), "0"), ("write", f("a/cgroup.procs"), "$w"),
        ("write", f("a/cgroup.procs"), "$x"), *counts("a"), ("in", "w", "fork", "y"), *counts("a"),
        ("write", f("a/pids.max"), "1"),
        ("read", f("a/pids.max")), ("in", "w", "fork", "y"), ("in", "w", "thread", "t"), *counts("a"),
        ("write", f("a/pids.max"), "3"), ("in", "w", "fork", "y"), ("in", "w", "fork", "z"), *counts("a")))  # fmt: skip
    tree = child(layout, "pids", "a", "a/b")
    yield Case("a limit holds for all below it", layout, (
        *tree, ("write", f("a/pids.max"), "1"), ("fork", "w"), ("write", f("a/b/cgroup.procs"), "$w"),
        ("in", "w", "fork", "x"),
        *counts("a", "a/b"), ("write", f("a/pids.max"), "max"), ("write", f("a/b/pids.max"), "1"),
        ("in", "w", "fork", "x"),
        *counts("a", "a/b"), ("write", f("a/pids.max"), "1"), ("in", "w", "fork", "x"), ("in", "w", "fork", "x"),
        *counts("a", "a/b")))  # fmt: skip
    yield Case("a child's limit may be above its parent's", layout, (
        *tree, *each_read_back(f("a/pids.max"), ["5"]), *each_read_back(f("a/b/pids.max"), ["10", "max"]),
        *each_read_back(f("a/pids.max"), ["1"])))  # fmt: skip
    yield Case("zombies count until they are waited for", layout, (
        *setup, ("fork", "w"), ("write", f("a/cgroup.procs"), "$w"), *counts("a"), ("in", "w", "exit"),
        ("state", "w"), *counts("a"),
        ("read", f("a/cgroup.procs")), ("wait", "w"), *counts("a"), ("rmdir", f("a"))))  # fmt: skip
    yield Case("threads count", layout, (
        *setup, ("fork", "w"), ("in", "w", "thread", "t"), ("write", f("a/cgroup.procs"), "$w"), *counts("a"),
        ("in", "w", "thread", "u"), *counts("a"), ("in", "u", "exit"), ("settle", 20), *counts("a")))  # fmt: skip
    yield Case("counts follow a process that moves", layout, (
        *tree, ("fork", "w"), ("write", f("a/b/cgroup.procs"), "$w"), *counts("a", "a/b"),
        ("write", f("a/cgroup.procs"), "$w")
        if layout == "v1" else ("write", "cgroup.procs", "$w"), *counts("a", "a/b")))  # fmt: skip
    yield Case("pids.events counts every refused fork", layout, (
        *setup, ("fork", "w"), ("write", f("a/cgroup.procs"), "$w"), ("write", f("a/pids.max"), "1"),
        *[("in", "w", "fork", "x")] * 3, *counts("a"), ("write", f("a/pids.max"), "max"), *counts("a")))  # fmt: skip
    yield Case("pids.events can be polled", layout, (
        *setup, ("fork", "w"), ("write", f("a/cgroup.procs"), "$w"), ("write", f("a/pids.max"), "1"),
        ("open", "h", f("a/pids.events")), ("poll", "h", "IN|PRI"), ("fread", "h", 100), ("poll", "h", "IN|PRI"),
        ("in", "w", "fork", "x"), ("settle", 30), ("poll", "h", "IN|PRI"), ("lseek", "h", 0), ("fread", "h", 100),
        ("poll", "h", "IN|PRI")))  # fmt: skip
    yield Case("a fork into a cgroup that is full", layout, (
        *setup, ("write", f("a/pids.max"), "0"), ("clone_into", "c", f("a")), *counts("a"),
        ("write", f("a/pids.max"), "1"),
        ("clone_into", "c", f("a")), *counts("a"), ("clone_into", "d", f("a")), *counts("a")))  # fmt: skip
    if layout == "v2":
        yield Case("pids starts over after the controller was off", "v2", (
            *setup, ("fork", "w"), ("write", "a/cgroup.procs", "$w"), ("write", "a/pids.max", "5"),
            ("in", "w", "fork", "x"),
            ("write", "cgroup.subtree_control", "-pids"), ("read", "a/pids.max"),
            ("write", "cgroup.subtree_control", "+pids"),
            ("read", "a/pids.max"), *counts("a")))  # fmt: skip
        yield Case("a move between cgroups that share one count", "v2", (
            ("write", "cgroup.subtree_control", "+pids"), ("mkdir", "a"), ("mkdir", "a/b"), ("mkdir", "a/c"),
            ("mkdir", "d"), ("fork", "w"), ("in", "w", "thread", "t"), ("write", "a/b/cgroup.procs", "$w"),
            *counts("a"), ("write", "a/c/cgroup.procs", "$w"), *counts("a"), ("write", "a/cgroup.procs", "$w"),
            *counts("a"), ("write", "d/cgroup.procs", "$w"), *counts("a", "d"), ("write", "a/b/cgroup.procs", "$w"),
            *counts("a", "d")))  # fmt: skip
