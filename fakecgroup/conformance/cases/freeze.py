"""Freezing on v2, and the v1 freezer."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.values import each_read_back, short_parser_cases


def cases() -> Iterator[Case]:
    yield from _v2()
    yield from _v1()


def _v2() -> Iterator[Case]:
    tree = (("mkdir", "a"), ("mkdir", "a/b"), ("fork", "w"))
    both = (
        ("read", "a/cgroup.freeze"),
        ("read", "a/cgroup.events"),
        ("read", "a/b/cgroup.freeze"),
        ("read", "a/b/cgroup.events"),
    )
    yield Case("freezing an empty tree", "v2", (
        *tree, ("write", "a/cgroup.freeze", "1"), *both, ("mkdir", "a/c"), ("read", "a/c/cgroup.freeze"),
        ("read", "a/c/cgroup.events"),
        ("write", "a/b/cgroup.freeze", "1"), ("write", "a/cgroup.freeze", "0"), *both,
        ("write", "a/b/cgroup.freeze", "0"), *both,
        ("write", "a/b/cgroup.freeze", "1"), *both))  # fmt: skip
    yield Case("freezing a process", "v2", (
        *tree, ("write", "a/b/cgroup.procs", "$w"), ("write", "a/cgroup.freeze", "1"),
        ("until", "a/cgroup.events", "frozen 1"), *both,
        ("write", "a/cgroup.freeze", "1"), ("in", "w", "read", "a/cgroup.freeze"), ("write", "a/cgroup.freeze", "0"),
        ("until", "a/cgroup.events", "frozen 0"), *both, ("in", "w", "read", "a/cgroup.freeze")))  # fmt: skip
    yield Case("moving between frozen and running cgroups", "v2", (
        *tree, ("mkdir", "z"), ("write", "a/cgroup.freeze", "1"), ("write", "a/cgroup.procs", "$w"),
        ("until", "a/cgroup.events", "frozen 1"), *both,
        ("write", "z/cgroup.procs", "$w"), ("read", "a/cgroup.events"), ("in", "w", "read", "z/cgroup.events"),
        ("write", "z/cgroup.freeze", "1"),
        ("until", "z/cgroup.events", "frozen 1"), ("write", "a/cgroup.procs", "$w"),
        ("until", "a/cgroup.events", "frozen 1")))  # fmt: skip
    yield Case("a frozen process can be killed", "v2", (
        *tree, ("write", "a/cgroup.procs", "$w"), ("write", "a/cgroup.freeze", "1"),
        ("until", "a/cgroup.events", "frozen 1"), ("kill", "w"),
        ("wait", "w"), ("until", "a/cgroup.events", "populated 0"), ("read", "a/cgroup.freeze")))  # fmt: skip
    yield Case("cgroup.kill on a frozen cgroup", "v2", (
        *tree, ("write", "a/b/cgroup.procs", "$w"), ("write", "a/cgroup.freeze", "1"),
        ("until", "a/cgroup.events", "frozen 1"),
        ("write", "a/cgroup.kill", "1"), ("until", "a/cgroup.events", "populated 0"), *both))  # fmt: skip
    yield Case("a parent is frozen when all below it are", "v2", (
        *tree, ("fork", "x"), ("write", "a/cgroup.procs", "$x"), ("write", "a/b/cgroup.procs", "$w"),
        ("write", "a/b/cgroup.freeze", "1"),
        ("until", "a/b/cgroup.events", "frozen 1"), ("read", "a/cgroup.events"), ("write", "a/cgroup.freeze", "1"),
        ("until", "a/cgroup.events", "frozen 1"), ("write", "a/b/cgroup.freeze", "0"), *both,
        ("write", "a/cgroup.freeze", "0"),
        ("until", "a/b/cgroup.events", "frozen 0"), *both))  # fmt: skip
    yield Case("forks of a frozen tree and rmdir", "v2", (
        *tree, ("write", "a/cgroup.freeze", "1"), ("clone_into", "x", "a/b"), ("until", "a/b/cgroup.events",
        "frozen 1"), ("rmdir", "a/b"),
        ("kill", "x"), ("wait", "x"), ("rmdir", "a/b"), ("rmdir", "a")))  # fmt: skip
    yield Case("the frozen change is notified", "v2", (
        *tree, ("write", "a/b/cgroup.procs", "$w"), ("open", "h", "a/cgroup.events"), ("fread", "h", 100),
        ("poll", "h", "IN|PRI"),
        ("write", "a/cgroup.freeze", "1"), ("until", "a/cgroup.events", "frozen 1"), ("settle", 30),
        ("poll", "h", "IN|PRI"), ("fpread", "h", 100, 0),
        ("poll", "h", "IN|PRI"), ("write", "a/cgroup.freeze", "1"), ("settle", 30), ("poll", "h", "IN|PRI"),
        ("write", "a/cgroup.freeze", "0"),
        ("until", "a/cgroup.events", "frozen 0"), ("settle", 30), ("poll", "h", "IN|PRI")))  # fmt: skip


def _v1() -> Iterator[Case]:
    state = "freezer/a/freezer.state"
    words = ["FROZEN", "THAWED", "FROZEN\n", " THAWED ", "\tFROZEN", "FREEZING", "frozen", "Thawed", "", "\n", " ",
        "\0", "1", "0", "FROZENX",
             "FROZE", "FROZEN THAWED", "THAWED\0x", {"join": ["FROZEN", {"repeat": [" ", 4090]}]},
             {"join": ["THAWED", {"repeat": [" ", 4091]}]}]  # fmt: skip
    yield Case(
        "freezer.state takes two words", "v1", (("mkdir", "freezer/a"), ("read", state), *each_read_back(state, words))
    )
    for name in ("self_freezing", "parent_freezing"):
        yield from short_parser_cases("v1", f"freezer/a/freezer.{name}", (("mkdir", "freezer/a"),))
    look = tuple(
        ("read", f"freezer/{d}/freezer.{f}")
        for d in ("a", "a/b")
        for f in ("state", "self_freezing", "parent_freezing")
    )
    tree = (("mkdir", "freezer/a"), ("mkdir", "freezer/a/b"), ("fork", "w"))
    yield Case("freezer without tasks", "v1", (
        *tree, *look, ("write", state, "FROZEN"), *look, ("write", "freezer/a/b/freezer.state", "THAWED"), *look,
        ("write", "freezer/a/b/freezer.state", "FROZEN"), *look, ("write", state, "THAWED"), *look,
        ("mkdir", "freezer/a/b/c"),
        ("read", "freezer/a/b/c/freezer.state"), ("read", "freezer/a/b/c/freezer.self_freezing"),
        ("read", "freezer/a/b/c/freezer.parent_freezing"),
        ("write", "freezer/a/b/freezer.state", "THAWED"), ("read", "freezer/a/b/c/freezer.state"), *look))  # fmt: skip
    yield Case("freezer with a task", "v1", (
        *tree, ("write", "freezer/a/b/tasks", "$w"), ("write", state, "FROZEN"), ("until", state, "FROZEN"), *look,
        ("in", "w", "read", state),
        ("write", state, "THAWED"), *look, ("in", "w", "read", state)))  # fmt: skip
    yield Case("moving into and out of a frozen group", "v1", (
        *tree, ("write", state, "FROZEN"), ("write", "freezer/a/tasks", "$w"), ("until", state, "FROZEN"),
        ("in", "w", "read", state),
        ("write", "freezer/tasks", "$w"), ("in", "w", "read", state), ("write", "freezer/a/b/cgroup.procs", "$w"),
        ("in", "w", "read", state), *look))  # fmt: skip
    yield Case("killing a frozen task waits for the thaw", "v1", (
        *tree, ("write", "freezer/a/tasks", "$w"), ("write", state, "FROZEN"), ("until", state, "FROZEN"),
        ("kill", "w"), ("read", "freezer/a/tasks"),
        ("rmdir", "freezer/a/b"), ("rmdir", "freezer/a"), ("write", state, "THAWED"), ("wait", "w"),
        ("rmdir", "freezer/a")))  # fmt: skip
    yield Case("the freezer root has no state", "v1", (
        ("read", "freezer/freezer.state"), ("write", "freezer/freezer.state", "FROZEN"),
        ("rmdir", "freezer/a")))  # fmt: skip
