"""cpuset's partitions in trees: what a change of an ancestor or a sibling does to those below and beside it.

Each case is the shortest in which something else than the tree itself decides: the load balance of the parent, which
the kernel inherits downwards; a scheduler's domain that stays as it was; a count of local partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child

_Op = tuple[Any, ...]


def _set(file: str, place: str, value: str) -> _Op:
    return ("write", f"{place}/cpuset.{file}", value)


def _cpus(place: str, value: str) -> _Op:
    return _set("cpus", place, value)


def _exclusive(place: str, value: str) -> _Op:
    return _set("cpus.exclusive", place, value)


def _partition(place: str, value: str) -> _Op:
    return _set("cpus.partition", place, value)


def _look(*places: str) -> tuple[_Op, ...]:
    files = ("cpus.partition", "cpus.effective", "cpus.exclusive.effective")
    return tuple(("read", f"{place}/cpuset.{file}") for place in places for file in files)


def cases() -> Iterator[Case]:
    yield from _domains()
    yield from _balance()
    yield from _counts()


def _domains() -> Iterator[Case]:
    yield Case("cpuset.cpus is emptied where its first CPU's domain is an old one", "v2", (
        *child("v2", "cpuset", "b"), _partition("b", "root"), _exclusive("b", "0,1"), *_look("b"), _cpus("b", "3"),
        _cpus("b", "\n"), *_look("b"), _cpus("b", "1"), _cpus("b", "\n"), *_look("b")))  # fmt: skip
    yield Case("cpuset.cpus of a remote partition is emptied where others are its CPUs", "v2", (
        *child("v2", "cpuset", "b", "b/a"), _exclusive("b", "1,2,3"), _exclusive("b/a", "1,2,3"),
        _partition("b/a", "root"), *_look("b", "b/a"), _cpus("b/a", "0,1,2,3"), _cpus("b/a", "\n"),
        *_look("b", "b/a")))  # fmt: skip


def _balance() -> Iterator[Case]:
    yield Case("a partition two levels down after its isolated ancestor", "v2", (
        *child("v2", "cpuset", "b", "b/c", "b/c/c"), _partition("b", "isolated"), _exclusive("b", "2"), *_look("b"),
        _partition("b/c/c", "root"), _partition("b", "root"), *_look("b", "b/c", "b/c/c"), _partition("b", "member"),
        *_look("b/c/c")))  # fmt: skip
    yield Case("exclusive CPUs below an isolated partition after its sibling", "v2", (
        *child("v2", "cpuset", "a", "b", "a/c"), _exclusive("a/c", "0,1,2,3"), _partition("b", "root"),
        _cpus("a", "0"), _partition("a", "isolated"), *_look("a", "a/c"), _cpus("b", "1"),
        *_look("a", "a/c", "b")))  # fmt: skip
    yield Case("exclusive CPUs two levels below a partition that was remote", "v2", (
        *child("v2", "cpuset", "a", "a/a", "a/a/b", "a/a/b/c"), _exclusive("a/a", "3"), _partition("a/a", "isolated"),
        _exclusive("a/a/b/c", "1,2,3"), _cpus("a", "1,2,3"), _exclusive("a/a/b", "3"), *_look("a/a", "a/a/b/c"),
        _partition("a", "isolated"), *_look("a", "a/a", "a/a/b", "a/a/b/c")))  # fmt: skip


def _counts() -> Iterator[Case]:
    yield Case("tasks of a remote partition count for its parent", "v2", (
        *child("v2", "cpuset", "a", "a/b"), ("mkdir", "a/b/c"), _cpus("a/b", "1"), _exclusive("a", "1"), ("fork", "q"),
        ("write", "a/b/c/cgroup.procs", "$q"), _partition("a/b", "isolated"), *_look("a", "a/b"),
        _partition("a", "isolated"), *_look("a", "a/b"), _cpus("a", "1,2"), *_look("a", "a/b")))  # fmt: skip
    yield Case("an isolated partition's CPUs change above a remote one with tasks", "v2", (
        *child("v2", "cpuset", "a", "a/c"), _exclusive("a/c", "0,1,2,3"), ("fork", "p"),
        ("write", "a/c/cgroup.procs", "$p"), _partition("a/c", "isolated"), _exclusive("a", "0,2,3"),
        *_look("a", "a/c"), _partition("a", "isolated"), *_look("a", "a/c"), _exclusive("a", "1,3"),
        _partition("a", "root"), *_look("a", "a/c")))  # fmt: skip
