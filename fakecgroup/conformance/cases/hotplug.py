"""CPUs that are taken offline and come back: what cpusets, partitions and tasks make of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child

_Op = tuple[Any, ...]

_BOOLEANS = (
    "0", "1", "n", "y", "N", "Y", "f", "t", "off", "on", "OFF", "ON", "of", "oN", "o", "01", "10", "no", "yes", "0\n",
    "1\n", "\n", "", " 1", "x", "2", "-1", "false", "true", "0x1",
)  # fmt: skip


def _cpus(place: str, value: str) -> _Op:
    return ("write", f"{place}/cpuset.cpus", value)


def _exclusive(place: str, value: str) -> _Op:
    return ("write", f"{place}/cpuset.cpus.exclusive", value)


def _partition(place: str, value: str) -> _Op:
    return ("write", f"{place}/cpuset.cpus.partition", value)


def _move(place: str, name: str = "w") -> _Op:
    return ("write", f"{place}/cgroup.procs", f"${name}")


def _off(*cpus: int) -> tuple[_Op, ...]:
    return tuple(("cpu", cpu, "0") for cpu in cpus)


def _on(*cpus: int) -> tuple[_Op, ...]:
    return tuple(("cpu", cpu, "1") for cpu in cpus)


def _look(*places: str) -> tuple[_Op, ...]:
    files = ("cpus", "cpus.effective", "cpus.exclusive.effective", "cpus.partition")
    return (
        ("read", "cpuset.cpus.effective"),
        ("read", "cpuset.cpus.isolated"),
        *(("read", f"{place}/cpuset.{file}") for place in places for file in files),
    )


def _awake(*names: str) -> tuple[_Op, ...]:
    """The affinity of tasks that have run since."""
    return tuple(op for name in names for op in (("in", name, "cpus", "online"), ("affinity", name)))


def cases() -> Iterator[Case]:
    yield from _machine()
    yield from _cpusets()
    yield from _partitions()
    yield from _v1()


def _machine() -> Iterator[Case]:
    lists = tuple(("cpus", name) for name in ("online", "offline", "possible", "present"))
    yield Case("a CPU is taken offline and comes back", "v2", (
        *lists, *_off(2), *lists, *_off(2), ("read", "cpuset.cpus.effective"), *_off(1, 3), *lists,
        ("affinity", "self"), ("read", "cpuset.cpus.effective"), *_on(3, 3), *lists, ("affinity", "self"), *_on(1, 2),
        *lists, ("read", "cpuset.cpus.effective"), ("affinity", "self")))  # fmt: skip
    yield Case("which CPUs can be taken offline, and by whom", "v2", (
        *_off(0, 4, 99), ("as", 1000, 1000), *_off(1, 0), ("as", 0, 0), ("capabilities", "~DAC_OVERRIDE"), *_off(1),
        ("cpus", "online"), *_on(1), ("capabilities", "0"), *_off(1), ("cpus", "online")))  # fmt: skip
    yield Case("what the file online of a CPU takes", "v2", tuple(
        op for text in _BOOLEANS for op in (("cpu", 3, text), ("cpus", "online"))))  # fmt: skip


def _cpusets() -> Iterator[Case]:
    tree = child("v2", "cpuset", "a", "a/b", "c")
    tasks = (("fork", "w"), ("fork", "x"), ("fork", "y"))
    yield Case("effective CPUs without those that are offline", "v2", (
        *tree, *_off(3), *_look("a", "a/b"), _cpus("a", "2-3"), _cpus("a/b", "3"), _cpus("c", "3"),
        *_look("a", "a/b", "c"), *_off(2), *_look("a", "a/b", "c"), *_on(3), *_look("a", "a/b", "c"), *_on(2),
        *_look("a", "a/b", "c")))  # fmt: skip
    yield Case("tasks of a cpuset whose CPUs go and come", "v2", (
        *tree, *tasks, _cpus("a", "1-3"), _cpus("a/b", "2-3"), _move("a"), _move("a/b", "x"), _move("c", "y"),
        ("set_affinity", "w", 10), ("set_affinity", "x", 8), ("set_affinity", "y", 6), *_off(3), *_awake("w", "x", "y"),
        *_off(2), *_awake("w", "x", "y"), *_off(1), *_awake("w", "x", "y"), *_look("a", "a/b", "c"), *_on(3),
        *_awake("w", "x", "y"), *_on(1, 2), *_awake("w", "x", "y"), *_look("a", "a/b", "c")))  # fmt: skip
    yield Case("tasks of the root whose CPU goes and comes", "v2", (
        *tree, *tasks, ("set_affinity", "w", 4), ("set_affinity", "x", 12), *_off(2), *_awake("w", "x", "y"), *_on(2),
        *_awake("w", "x", "y"), *_off(2, 3), *_awake("w", "x", "y"), ("set_affinity", "y", 4), ("affinity", "y"),
        ("set_affinity", "y", 5), ("affinity", "y"), *_on(2), *_awake("w", "x", "y"), *_on(3),
        *_awake("w", "x", "y")))  # fmt: skip
    yield Case("a task asks for a CPU that is offline", "v2", (
        *tree, *tasks, _cpus("a", "1-3"), _move("a"), *_off(3), ("set_affinity", "w", 8), ("affinity", "w"),
        ("set_affinity", "w", 10), ("affinity", "w"), *_on(3), *_awake("w"), *_off(1), *_awake("w"),
        ("set_affinity", "w", 2), ("set_affinity", "w", 12), *_off(3), *_awake("w"), *_on(1, 3),
        *_awake("w")))  # fmt: skip
    yield Case("a task comes while CPUs are offline", "v2", (
        *tree, *tasks, _cpus("a", "1-2"), _cpus("a/b", "2"), *_off(2), _move("a"), *_awake("w"), _move("a/b", "x"),
        *_awake("x"), _move("a/b"), _move("."), *_awake("w"), _cpus("a", "2"), *_look("a", "a/b"), _move("a"),
        *_awake("w", "x"), *_on(2), *_awake("w", "x"), *_look("a", "a/b")))  # fmt: skip


def _partitions() -> Iterator[Case]:
    for kind in ("root", "isolated"):
        pair = (*_look(), *child("v2", "cpuset", "a", "b"), _cpus("a", "2-3"), _partition("a", kind))
        busy = (("fork", "w"), _move("a"))
        yield Case(f"a {kind} partition without tasks loses its CPUs", "v2", (
            *pair, *_off(3), *_look("a", "b"), *_off(2), *_look("a", "b"), *_on(3), *_look("a", "b"), *_on(2),
            *_look("a", "b")))  # fmt: skip
        yield Case(f"a {kind} partition with tasks loses its CPUs", "v2", (
            *pair, *busy, *_off(3), *_look("a", "b"), *_awake("w"), *_off(2), *_look("a", "b"), *_awake("w"),
            ("affinity", "self"), *_on(3), *_look("a", "b"), *_awake("w"), ("affinity", "self"), *_on(2),
            *_look("a", "b"), *_awake("w"), ("affinity", "self")))  # fmt: skip
        yield Case(f"a {kind} partition takes the last CPUs of the root", "v2", (
            *pair, *busy, *_off(1), *_look("a", "b"), _cpus("a", "1-3"), *_look("a", "b"), *_awake("w"),
            ("affinity", "self"), *_on(1), *_look("a", "b"), *_awake("w"), ("affinity", "self")))  # fmt: skip
        yield Case(f"a {kind} partition is made of CPUs that are offline", "v2", (
            *_look(), *child("v2", "cpuset", "a", "b"), _cpus("a", "2-3"), *_off(2), _partition("a", kind),
            *_look("a", "b"), *_off(3), *_look("a"), _partition("a", "member"), _partition("a", kind), *_look("a", "b"),
            ("fork", "w"), _move("a"), *_on(3), *_look("a", "b"), _move("a"), *_awake("w"), *_on(2),
            *_look("a", "b"), *_awake("w")))  # fmt: skip
        nested = (*_look(), *child("v2", "cpuset", "a", "a/b", "a/c"), _cpus("a", "1-3"), _partition("a", kind),
            _cpus("a/b", "2-3"), _partition("a/b", kind), *_look("a", "a/b"))  # fmt: skip
        yield Case(f"a {kind} partition in a partition loses its CPUs", "v2", (
            *nested, *_off(3), *_look("a", "a/b", "a/c"), *_off(2), *_look("a", "a/b", "a/c"), *_off(1),
            *_look("a", "a/b", "a/c"), *_on(2), *_look("a", "a/b", "a/c"), *_on(1, 3),
            *_look("a", "a/b", "a/c")))  # fmt: skip
        yield Case(f"tasks of a {kind} partition in a partition that loses its CPUs", "v2", (
            *nested, ("fork", "w"), _move("a/b"), ("fork", "x"), _move("a/c", "x"), *_off(1),
            *_look("a", "a/b", "a/c"), *_awake("w", "x"), *_off(2), *_look("a", "a/b", "a/c"), *_awake("w", "x"),
            *_on(1), *_look("a", "a/b", "a/c"), *_awake("w", "x"), *_on(2), *_look("a", "a/b", "a/c"),
            *_awake("w", "x")))  # fmt: skip
        remote = (*_look(), *child("v2", "cpuset", "a", "a/b"), _exclusive("a", "2-3"), _exclusive("a/b", "2-3"),
            _partition("a/b", kind), *_look("a", "a/b"))  # fmt: skip
        yield Case(f"a remote {kind} partition loses its CPUs", "v2", (
            *remote, *_off(3), *_look("a", "a/b"), *_off(2), *_look("a", "a/b"), *_on(2, 3), *_look("a", "a/b"),
            ("fork", "w"), _move("a/b"), *_off(2, 3), *_look("a", "a/b"), *_awake("w"), *_on(2, 3), *_look("a", "a/b"),
            *_awake("w")))  # fmt: skip
    yield Case("a partition that was invalid gets its CPU", "v2", (
        *_look(), *child("v2", "cpuset", "a", "b"), *_off(3), ("fork", "w"), _move("a"), _cpus("a", "3"),
        _partition("a", "root"), *_look("a"), *_on(3), *_look("a"), *_awake("w"), *_off(3), *_look("a"),
        _partition("a", "member"), *_on(3), *_look("a"), *_awake("w")))  # fmt: skip
    yield Case("a partition's change by a CPU is notified", "v2", (
        *_look(), *child("v2", "cpuset", "a"), _cpus("a", "3"), _partition("a", "root"), ("fork", "w"), _move("a"),
        ("settle", 30), ("open", "h", "a/cpuset.cpus.partition"), ("fread", "h", 100), ("poll", "h", "IN|PRI"),
        *_off(3),
        ("poll", "h", "IN|PRI"), ("fpread", "h", 100, 0), ("poll", "h", "IN|PRI"), *_on(3),
        ("poll", "h", "IN|PRI")))  # fmt: skip


def _v1() -> Iterator[Case]:
    a, b, c = "cpuset/a", "cpuset/a/b", "cpuset/c"
    files = ("cpuset.cpus", "cpuset.effective_cpus")
    look = tuple(("read", f"{place}/{file}") for place in ("cpuset", a, b, c) for file in files)
    tree = (
        *child("v1", "cpuset", "a", "a/b", "c"),
        *(op for place, cpus in ((a, "1-3"), (b, "2-3"), (c, "3"))
            for op in (("write", f"{place}/cpuset.cpus", cpus), ("write", f"{place}/cpuset.mems", "0-1"))),
        ("fork", "w"), ("fork", "x"), ("fork", "y"))  # fmt: skip
    where = tuple(("read", f"{place}/tasks") for place in (a, b, c))
    tasks = _awake("w", "x", "y")
    yield Case("v1 cpusets lose CPUs for good", "v1", (
        *tree, *look, *_off(3), *look, *_on(3), *look, _cpus(a, "1-3"), *look, *_off(2), *look, _cpus(a, "2"),
        _cpus(a, "1-2"), _cpus(c, "3"), *look, *_off(1, 3), *look, *_on(1, 2, 3), *look))  # fmt: skip
    yield Case("tasks of v1 cpusets that lose their last CPU move up", "v1", (
        *tree, _move(a), _move(b, "x"), _move(c, "y"), ("in", "x", "thread", "t"), ("set_affinity", "w", 10),
        ("set_affinity", "x", 8), *_off(3), *look, *where, *tasks, ("affinity", "t"), *_off(2), *look, *where, *tasks,
        ("affinity", "t"), *_off(1), *look, *where, *tasks, *_on(1, 2, 3), *look, *where, *tasks,
        ("affinity", "t")))  # fmt: skip
    yield Case("tasks of v1's root whose CPU goes and comes", "v1", (
        *tree, ("set_affinity", "w", 4), ("set_affinity", "x", 12), *_off(2), *tasks, ("set_affinity", "y", 4),
        ("set_affinity", "y", 5), ("affinity", "y"), *_on(2), *tasks, _move(a, "x"), _move("cpuset", "x"),
        *tasks))  # fmt: skip
    yield Case("nobody enters a v1 cpuset that has lost its last CPU", "v1", (
        *tree, *_off(3), ("write", f"{c}/tasks", "$w"), _cpus(c, "3"), _cpus(c, "2"), ("write", f"{c}/tasks", "$w"),
        *_awake("w"), *_on(3), _cpus(c, "3"), *_awake("w")))  # fmt: skip
