"""Threads: where one starts that another thread makes, and in which order the lists have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case

_Ops = tuple[tuple[Any, ...], ...]
_PLACES = ("a", "a/b", "a/c")


def cases() -> Iterator[Case]:
    for layout, prefix, threads in (("v2", "", "cgroup.threads"), ("v1", "pids/", "tasks"),
                                    ("hybrid", "unified/", "cgroup.threads")):  # fmt: skip
        for name, ops in _everywhere(prefix, threads):
            yield Case(name, layout, ops)
    for name, ops in _domains():
        yield Case(name, "v2", ops)
    yield Case("who is elsewhere in v1 is listed with those who are there too", "hybrid", _elsewhere())


def _look(prefix: str, threads: str) -> _Ops:
    return tuple(
        ("read", f"{prefix}{place}/{file}")
        for place in _PLACES
        for file in ("cgroup.procs", threads)
        if threads == "tasks" or place == "a" or file == threads
    )


def _everywhere(p: str, threads: str) -> Iterator[tuple[str, _Ops]]:
    """Cases of a hierarchy below `p`, whose file ``threads`` takes single ones."""
    make: _Ops = tuple(("mkdir", f"{p}{place}") for place in _PLACES)
    if threads != "tasks":
        make += tuple(("write", f"{p}{place}/cgroup.type", "threaded") for place in _PLACES[1:])
    make += (("fork", "w"), ("in", "w", "thread", "t"), ("write", f"{p}a/cgroup.procs", "$w"))
    look = _look(p, threads)
    yield "a thread starts where its maker is", (
        *make, ("write", f"{p}a/b/{threads}", "$t"), ("in", "t", "thread", "u"), ("in", "u", "thread", "v"), *look,
        ("in", "w", "thread", "x"), *look, ("write", f"{p}a/c/{threads}", "$u"), ("in", "u", "thread", "y"), *look,
        *(("proc", name, "cgroup") for name in "wtuvxy"), ("in", "t", "exit"), ("settle", 20),
        ("in", "v", "thread", "z"), ("proc", "z", "cgroup"), *look, ("write", f"{p}a/b/cgroup.procs", "$y"),
        *look, ("in", "y", "thread", "q"), *look)  # fmt: skip
    yield "a process starts where the thread is that forks it", (
        *make, ("write", f"{p}a/b/{threads}", "$t"), ("in", "t", "fork", "x"), ("in", "w", "fork", "y"), *look,
        ("in", "x", "thread", "u"), ("proc", "x", "cgroup"), ("proc", "u", "cgroup"), *look,
        ("write", f"{p}a/c/{threads}", "$w"), ("in", "w", "fork", "z"), ("in", "t", "fork", "q"), *look)  # fmt: skip
    yield "who moves comes last, who is there already keeps its place", (
        *make, ("fork", "x"), ("in", "w", "thread", "u"), *look, ("write", f"{p}a/cgroup.procs", "$x"), *look,
        ("write", f"{p}a/{threads}", "$w"), *look, ("write", f"{p}a/b/{threads}", "$t"),
        ("write", f"{p}a/{threads}", "$t"), *look, ("write", f"{p}a/cgroup.procs", "$w"), *look,
        ("write", f"{p}a/b/{threads}", "$u"), ("write", f"{p}a/cgroup.procs", "$w"), *look,
        ("write", f"{p}a/c/{threads}", "$w"), ("write", f"{p}a/cgroup.procs", "$x"), *look,
        ("write", f"{p}a/{threads}", "$w"), *look)  # fmt: skip
    yield "the threads of a process move together with those that were in the same cgroup", (
        *make, *(("in", "w", "thread", name) for name in ("u", "v", "x", "y")),
        ("write", f"{p}a/b/{threads}", "$t"), ("write", f"{p}a/c/{threads}", "$u"),
        ("write", f"{p}a/b/{threads}", "$x"), ("write", f"{p}a/c/{threads}", "$y"), *look,
        ("write", f"{p}a/cgroup.procs", "$v"), *look, ("write", f"{p}a/b/{threads}", "$v"),
        ("write", f"{p}a/b/{threads}", "$w"), ("write", f"{p}a/c/cgroup.procs", "$t"), *look)  # fmt: skip
    yield "the threads of a killed process leave every list", (
        *make, ("fork", "x"), ("fork", "y"), ("in", "x", "thread", "u"), ("in", "y", "thread", "v"),
        ("write", f"{p}a/cgroup.procs", "$y"), ("write", f"{p}a/cgroup.procs", "$x"),
        ("write", f"{p}a/b/{threads}", "$v"), *look, ("kill", "x"), ("settle", 20), *look, ("wait", "x"),
        ("settle", 20), *look, ("in", "v", "exit"), ("settle", 20), *look, ("kill", "y"), ("settle", 20),
        *look, ("wait", "y"), ("settle", 20), *look)  # fmt: skip


def _domains() -> Iterator[tuple[str, _Ops]]:
    """A domain's cgroup.procs has its threaded cgroups in the order in which they came to have tasks."""
    places = ("a", "a/b", "a/c", "a/d", "a/b/e")
    make: _Ops = tuple(("mkdir", place) for place in places)
    make += tuple(("write", f"{place}/cgroup.type", "threaded") for place in places[1:])
    make += tuple(("fork", name) for name in ("v", "w", "x", "y"))
    procs = ("read", "a/cgroup.procs")
    yield "threaded cgroups are listed in the order of their use", (
        *make, ("write", "a/d/cgroup.procs", "$w"), procs, ("write", "a/b/e/cgroup.procs", "$x"), procs,
        ("write", "a/b/cgroup.procs", "$y"), procs, ("write", "a/cgroup.procs", "$v"), procs,
        ("write", "a/c/cgroup.threads", "$w"), procs, ("write", "a/d/cgroup.threads", "$w"), procs,
        ("write", "a/b/cgroup.threads", "$x"), procs, ("write", "cgroup.procs", "$y"), procs,
        ("write", "a/b/e/cgroup.procs", "$y"), procs)  # fmt: skip
    for controllers, name in (("+pids", "a threaded controller"), ("+memory", "a domain controller")):
        yield f"threaded cgroups are listed from the top down after {name} is enabled", (
            *make, ("write", "a/d/cgroup.procs", "$w"), ("write", "a/b/e/cgroup.procs", "$x"),
            ("write", "a/b/cgroup.procs", "$y"), ("write", "a/cgroup.procs", "$v"), procs,
            ("write", "cgroup.subtree_control", controllers), procs, ("write", "a/c/cgroup.procs", "$v"), procs,
            ("write", "a/cgroup.subtree_control", "+pids"), procs, ("write", "a/d/cgroup.procs", "$v"),
            ("write", "a/d/cgroup.procs", "$w"), procs, ("write", "a/cgroup.subtree_control", "-pids"), procs,
            ("write", "cgroup.subtree_control", "-pids -memory"), procs)  # fmt: skip
    yield "below the root", (
        *(("mkdir", place) for place in ("a", "b", "a/c")), ("fork", "w"), ("fork", "x"), ("fork", "y"),
        *(("write", f"{place}/cgroup.type", "threaded") for place in ("a", "b", "a/c")), ("read", "cgroup.procs"),
        ("write", "b/cgroup.procs", "$w"), ("read", "cgroup.procs"), ("write", "a/c/cgroup.procs", "$x"),
        ("read", "cgroup.procs"), ("write", "a/cgroup.threads", "$y"), ("read", "cgroup.procs"),
        ("in", "x", "thread", "t"), ("write", "cgroup.threads", "$x"), ("read", "cgroup.procs"),
        ("read", "cgroup.threads"), ("in", "t", "fork", "z"), ("read", "cgroup.procs"), ("write", "cgroup.procs", "$x"),
        ("read", "cgroup.procs"), ("read", "cgroup.threads"))  # fmt: skip


def _elsewhere() -> _Ops:
    lists = (("read", "unified/a/cgroup.procs"), ("read", "unified/a/cgroup.threads"), ("read", "unified/cgroup.procs"))
    return (
        ("mkdir", "pids/b"), ("mkdir", "freezer/c"), ("mkdir", "unified/a"),
        *(("fork", name) for name in ("v", "w", "x", "y")), ("in", "v", "thread", "t"), ("in", "x", "thread", "u"),
        *(("write", "unified/a/cgroup.procs", f"${name}") for name in ("v", "w", "x")), *lists,
        ("write", "pids/b/tasks", "$t"), *lists, ("write", "freezer/c/cgroup.procs", "$w"), *lists,
        ("write", "pids/b/tasks", "$v"), *lists, ("write", "pids/b/cgroup.procs", "$y"), *lists,
        ("write", "unified/a/cgroup.procs", "$y"), *lists, ("write", "freezer/cgroup.procs", "$w"), *lists,
        ("in", "t", "thread", "q"), ("in", "t", "fork", "z"), *lists, ("write", "unified/cgroup.procs", "$v"), *lists,
        ("write", "pids/cgroup.procs", "$v"), *lists,
    )  # fmt: skip
