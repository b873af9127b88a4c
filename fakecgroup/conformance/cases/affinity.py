"""The CPUs that tasks may run on: what cpusets give them, what they ask for, and what of that is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child

_Op = tuple[Any, ...]


def _cpus(place: str, value: str) -> _Op:
    return ("write", f"{place}/cpuset.cpus", value)


def _partition(place: str, value: str) -> _Op:
    return ("write", f"{place}/cpuset.cpus.partition", value)


def _move(place: str, name: str = "w") -> _Op:
    return ("write", f"{place}/cgroup.procs", f"${name}")


def _ask(name: str, *masks: int) -> tuple[_Op, ...]:
    return tuple(op for mask in masks for op in (("set_affinity", name, mask), ("affinity", name)))


def cases() -> Iterator[Case]:
    yield from _v2()
    yield from _v1()


def _v2() -> Iterator[Case]:
    w = ("affinity", "w")
    pair = (*child("v2", "cpuset", "a", "b"), ("fork", "w"))
    yield Case("what a task may ask for", "v2", (
        *pair, *_ask("w", 1, 8, 12, 15, 16, 31, 0), _cpus("a", "1-2"), _move("a"), w, *_ask("w", 1, 3, 4, 9, 15, 0),
        ("as", 1000, 1000), *_ask("w", 2), ("as", 0, 0), w))  # fmt: skip
    yield Case("what a task has asked for when its cpuset changes", "v2", (
        *pair, _cpus("a", "0-2"), _move("a"), *_ask("w", 6), _cpus("a", "1-3"), w, _cpus("a", "3"), w, _cpus("a", "1"),
        w, _cpus("a", "0-3"), w, _cpus("a", "\n"), w, *_ask("w", 15), _cpus("a", "2-3"), w,
        _cpus("a", "0-3"), w))  # fmt: skip
    yield Case("what a task has asked for when it moves", "v2", (
        *pair, _cpus("a", "0-1"), _cpus("b", "1-2"), *_ask("w", 6), _move("a"), w, _move("b"), w, _move("."), w,
        _move("a"), w, *_ask("w", 1), _move("b"), w, _move("."), w, _cpus("b", "0-1"), _move("a"), *_ask("w", 2),
        _move("b"), w, _cpus("b", "0"), w, _move("."), w))  # fmt: skip
    yield Case("what a child gets of what its parent has asked for", "v2", (
        *pair, _cpus("a", "0-2"), _move("a"), *_ask("w", 6), ("in", "w", "fork", "c"), ("affinity", "c"),
        ("in", "w", "thread", "t"), ("affinity", "t"), *_ask("t", 1), w, ("affinity", "c"), _cpus("a", "1-3"), w,
        ("affinity", "t"), ("affinity", "c"), _move("b", "c"), ("affinity", "c"), _cpus("a", "0"), w,
        ("affinity", "t"), _move("b"), w, ("affinity", "t")))  # fmt: skip
    yield Case("what a child gets that starts elsewhere", "v2", (
        *pair, _cpus("a", "0-1"), _cpus("b", "1-2"), _move("a"), *_ask("w", 2), ("in", "w", "clone_into", "c", "b"),
        ("affinity", "c"), *_ask("w", 1), ("in", "w", "clone_into", "d", "b"), ("affinity", "d"),
        ("in", "w", "clone_into", "e", "."), ("affinity", "e"), _cpus("b", "0-3"), ("affinity", "c"),
        ("affinity", "d")))  # fmt: skip
    yield Case("threads of a process have cpusets of their own", "v2", (
        *child("v2", "cpuset", "a"), ("write", "a/cgroup.subtree_control", "+cpuset"), ("mkdir", "a/s"),
        ("mkdir", "a/t"), ("write", "a/s/cgroup.type", "threaded"), ("write", "a/t/cgroup.type", "threaded"),
        ("fork", "w"), ("in", "w", "thread", "u"), _move("a"), w, ("affinity", "u"), _cpus("a/s", "1"),
        _cpus("a/t", "2-3"), ("write", "a/s/cgroup.threads", "$w"), ("write", "a/t/cgroup.threads", "$u"), w,
        ("affinity", "u"),
        *_ask("u", 8), ("in", "u", "thread", "v"), ("affinity", "v"), _cpus("a/t", "2"), ("affinity", "v"),
        _cpus("a", "0-2"), w, ("affinity", "u"), ("write", "a/cgroup.threads", "$u"), ("affinity", "u"),
        _move("."), w, ("affinity", "u"), ("affinity", "v")))  # fmt: skip
    yield Case("cpuset is enabled and disabled above tasks", "v2", (
        *child("v2", "cpuset", "a"), _cpus("a", "0-2"), ("mkdir", "a/b"), ("mkdir", "a/c"), ("fork", "w"),
        ("fork", "x"), _move("a/b"), _move("a/c", "x"), *_ask("w", 3), ("write", "a/cgroup.subtree_control", "+cpuset"),
        w, ("affinity", "x"), _cpus("a/b", "1-2"), w, _cpus("a/c", "0"), ("affinity", "x"),
        ("write", "a/cgroup.subtree_control", "-cpuset"), w, ("affinity", "x"), *_ask("w", 4),
        ("write", "cgroup.subtree_control", "-cpuset"), w, ("affinity", "x")))  # fmt: skip
    yield Case("what tasks get around partitions", "v2", (
        *pair, ("fork", "x"), ("affinity", "self"), _cpus("a", "0-1"), _move("a"), *_ask("w", 1), *_ask("x", 3),
        _partition("a", "root"), w, ("affinity", "x"), ("affinity", "self"), *_ask("self", 1, 5, 15), _move("b", "x"),
        ("affinity", "x"), _move("b"), w, _move("."), w, _move(".", "x"), ("affinity", "x"), _cpus("a", "1"),
        ("affinity", "self"), w, ("affinity", "x"), _partition("a", "member"), ("affinity", "self"), w,
        ("affinity", "x"), *_ask("self", 15)))  # fmt: skip
    yield Case("tasks below a partition whose CPUs are given away", "v2", (
        *child("v2", "cpuset", "a", "a/b", "a/c"), ("fork", "w"), ("fork", "x"), _cpus("a", "0-2"),
        _partition("a", "root"), _move("a/c"), _move("a/b", "x"), w, *_ask("w", 5), _cpus("a/b", "0"),
        _partition("a/b", "root"), w, ("affinity", "x"), _cpus("a/b", "1"), w, ("affinity", "x"),
        _partition("a/b", "member"), w, ("affinity", "x"), _partition("a", "member"), w,
        ("affinity", "x")))  # fmt: skip


def _v1() -> Iterator[Case]:
    w, a, b = ("affinity", "w"), "cpuset/a", "cpuset/b"
    pair = (
        *child("v1", "cpuset", "a", "b"),
        ("fork", "w"),
        *(("write", f"{one}/cpuset.mems", "0-1") for one in (a, b)),
    )
    yield Case("what a task has asked for on v1", "v1", (
        *pair, _cpus(a, "0-2"), _cpus(b, "1-2"), *_ask("w", 9), _move(a), w, *_ask("w", 6, 8, 0, 15), *_ask("w", 6),
        ("in", "w", "fork", "c"), ("affinity", "c"), ("in", "w", "thread", "t"), ("affinity", "t"), _cpus(a, "1-3"), w,
        ("affinity", "c"), _move(b), w, ("affinity", "t"), *_ask("w", 4), _move("cpuset"), w, _move(a), w,
        _cpus(a, "0"), w, _cpus(a, "0-3"), w))  # fmt: skip
    yield Case("a thread has a v1 cpuset of its own", "v1", (
        *pair, _cpus(a, "0-1"), _cpus(b, "2"), ("in", "w", "thread", "t"), _move(a), ("write", f"{b}/tasks", "$t"), w,
        ("affinity", "t"), ("in", "t", "thread", "u"), ("affinity", "u"), *_ask("w", 1), ("write", f"{b}/tasks", "$w"),
        w, _cpus(b, "1-2"), w, ("affinity", "t"), ("affinity", "u")))  # fmt: skip
