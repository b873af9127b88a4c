"""The hybrid layout: v1's hierarchies, and unified/ with the controllers that none of them has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import OPERATIONS, Case
from fakecgroup.conformance.cases import core_v2, freeze, processes, threaded
from fakecgroup.conformance.cases.file_sets import CONTROLLERS_V2, CORE_V2, FILES_V2, HIERARCHIES_V1


def below_unified(case: Case) -> Case:
    """A v2 case, done in unified/."""
    return Case(f"{case.name} (unified)", "hybrid", tuple(_below_unified(op) for op in case.ops))


def _below_unified(op: tuple[Any, ...]) -> tuple[Any, ...]:
    if op[0] == "in":
        return (*op[:2], *_below_unified(op[2:]))
    kinds = OPERATIONS[op[0]]
    moved = [
        f"unified/{value}" if kind == "path" and isinstance(value, str) and not value.startswith("/") else value
        for kind, value in zip(kinds, op[1:], strict=False)
    ]
    return (op[0], *moved)


def cases() -> Iterator[Case]:
    for name, ops in _own():
        yield Case(name, "hybrid", tuple(ops))
    for family in (core_v2, processes, freeze, threaded):
        for case in family.cases():
            if case.layout == "v2" and not any("clone_into" in op for op in case.ops):
                yield below_unified(case)


def _own() -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    yield "processes that are elsewhere in v1 come after the others", [
        ("mkdir", "pids/b"), ("mkdir", "unified/a"), ("fork", "w"), ("fork", "x"), ("write", "pids/b/tasks", "$w"),
        ("read", "unified/cgroup.procs"), ("write", "unified/a/cgroup.procs", "$w"),
        ("write", "unified/a/cgroup.procs", "$x"), ("read", "unified/a/cgroup.procs"),
        ("write", "pids/b/tasks", "$x"), ("write", "pids/tasks", "$w"), ("read", "unified/a/cgroup.procs")]  # fmt: skip
    yield "what is mounted", [
        ("listdir", "."), *(op for h in (*HIERARCHIES_V1, "unified") for op in (("stat", h), ("statfs", h))),
        ("stat", "."), ("rmdir", "unified"), ("unlink", "unified"), ("rename", "unified", "v2"),
        *(("readlink", name) for name in ("cpu", "cpuacct", "net_cls", "net_prio", "unified"))]  # fmt: skip
    yield "unified has what v1 has left", [
        ("read", "unified/cgroup.controllers"), ("read", "unified/cgroup.subtree_control"),
        ("read", "unified/cgroup.stat"), ("listdir", "unified"), ("listraw", "unified"), ("mkdir", "unified/a"),
        ("listdir", "unified/a"), ("listraw", "unified/a"), ("read", "unified/a/cgroup.controllers"),
        ("read", "unified/a/cgroup.stat"), ("read", "unified/cgroup.stat")]  # fmt: skip
    for controller in (*CONTROLLERS_V2, "perf_event", "devices", "freezer", "blkio", "cpuacct", "net_cls", "nosuch"):
        yield f"{controller} in unified", [
            ("mkdir", "unified/a"), ("write", "unified/cgroup.subtree_control", f"-{controller}"),
            ("write", "unified/cgroup.subtree_control", f"+{controller}"), ("read", "unified/cgroup.subtree_control"),
            ("read", "unified/a/cgroup.controllers"), ("listdir", "unified/a"),
            ("write", "unified/a/cgroup.subtree_control", f"+{controller}"), ("read", "unified/a/cgroup.stat"),
            ("read", "unified/cgroup.stat"), ("write", "unified/cgroup.subtree_control", f"-{controller}"),
            ("read", "unified/cgroup.subtree_control")]  # fmt: skip
    for controller, names in FILES_V2.items():
        files = [f"{controller}.{name}" for name in names]
        if controller == "cgroup":
            files = [f"cgroup.{name}" for name in CORE_V2]
        yield f"{controller} files in unified", [
            ("mkdir", "unified/a"),
            *(op for d in ("", "a/") for f in files
              for op in (("stat", f"unified/{d}{f}"), ("read", f"unified/{d}{f}"))),
            ("write", "unified/cgroup.subtree_control", f"+{controller}"),
            *(op for f in files for op in (("stat", f"unified/a/{f}"), ("read", f"unified/a/{f}")))]  # fmt: skip
    yield "memory in the hierarchy that has it", [
        ("write", "unified/cgroup.subtree_control", "+memory"), ("mkdir", "unified/a"), ("mkdir", "memory/a"),
        ("write", "unified/a/memory.max", "1G"), ("read", "unified/a/memory.max"),
        ("write", "memory/a/memory.limit_in_bytes", "1G"), ("read", "memory/a/memory.limit_in_bytes")]  # fmt: skip
    places: list[tuple[Any, ...]] = [
        ("mkdir", "unified/a"), ("mkdir", "unified/a/b"), ("mkdir", "pids/a"), ("mkdir", "systemd/s"),
        ("fork", "w")]  # fmt: skip
    look: list[tuple[Any, ...]] = [
        ("proc", "w", "cgroup"),
        *(("read", f"{d}/cgroup.procs") for d in ("unified/a", "unified/a/b", "pids/a"))]  # fmt: skip
    yield "a process has a place in each", [
        *places, *look, ("write", "unified/a/cgroup.procs", "$w"), *look, ("write", "pids/a/cgroup.procs", "$w"), *look,
        ("write", "systemd/s/tasks", "$w"), *look, ("write", "unified/a/b/cgroup.procs", "$w"), *look,
        ("write", "pids/cgroup.procs", "$w"), *look, ("write", "unified/cgroup.procs", "$w"), *look]  # fmt: skip
    yield "children start where their parent is, in each", [
        *places, ("write", "unified/a/cgroup.procs", "$w"), ("write", "pids/a/tasks", "$w"), ("in", "w", "fork", "x"),
        ("in", "w", "thread", "t"), ("proc", "x", "cgroup"), *look, ("write", "pids/tasks", "$t"),
        ("read", "pids/a/tasks"), ("read", "unified/a/cgroup.threads"), ("in", "t", "fork", "y"),
        ("proc", "y", "cgroup"), ("write", "unified/a/b/cgroup.threads", "$t"), *look]  # fmt: skip
    yield "a zombie's places", [
        *places, ("write", "unified/a/cgroup.procs", "$w"), ("write", "pids/a/tasks", "$w"), ("in", "w", "exit"),
        *look, ("read", "unified/a/cgroup.events"), ("rmdir", "pids/a"), ("rmdir", "unified/a/b"),
        ("rmdir", "unified/a"), ("proc", "w", "cgroup"), ("wait", "w")]  # fmt: skip
    yield "the pids limit holds, whatever the place in unified", [
        *places, ("write", "pids/a/pids.max", "1"), ("write", "pids/a/tasks", "$w"),
        ("write", "unified/a/cgroup.procs", "$w"), ("in", "w", "fork", "x"), ("read", "pids/a/pids.events"),
        ("write", "pids/tasks", "$w"), ("in", "w", "fork", "x"), ("read", "unified/a/cgroup.procs")]  # fmt: skip
    yield "two ways to freeze", [
        *places, ("mkdir", "freezer/f"), ("write", "freezer/f/tasks", "$w"), ("write", "unified/a/cgroup.procs", "$w"),
        ("write", "freezer/f/freezer.state", "FROZEN"), ("until", "freezer/f/freezer.state", "FROZEN"),
        ("read", "unified/a/cgroup.freeze"), ("read", "unified/a/cgroup.events"),
        ("write", "freezer/f/freezer.state", "THAWED"), ("until", "freezer/f/freezer.state", "THAWED"),
        ("write", "unified/a/cgroup.freeze", "1"), ("until", "unified/a/cgroup.events", "frozen 1"),
        ("read", "freezer/f/freezer.state"), ("write", "unified/a/cgroup.freeze", "0"),
        ("until", "unified/a/cgroup.events", "frozen 0")]  # fmt: skip
    yield "cgroup.kill reaches v1's groups", [
        *places, ("write", "unified/a/cgroup.procs", "$w"), ("write", "pids/a/tasks", "$w"),
        ("write", "unified/a/cgroup.kill", "1"), ("settle", 100), ("wait", "w"), ("read", "pids/a/tasks"),
        ("rmdir", "pids/a")]  # fmt: skip
    yield "each renames as it does", [
        *places, ("rename", "unified/a", "unified/z"), ("rename", "pids/a", "pids/z"),
        ("rename", "pids/z", "unified/z"), ("rename", "unified/a", "pids/a"),
        ("write", "pids/z/tasks", "$w"), ("proc", "w", "cgroup"),
        ("rename", "pids/z", "pids/y"), ("proc", "w", "cgroup")]  # fmt: skip
    yield "a user moves in each as its version has it", [
        ("mkdir", "unified/u"), ("mkdir", "pids/u"), ("fork", "w"), ("in", "w", "as", 1000, 1000),
        *(("chown", f"{h}/u{f}", 1000, 1000) for h in ("unified", "pids") for f in ("", "/cgroup.procs")),
        ("as", 1000, 1000), ("write", "pids/u/cgroup.procs", "$w"), ("write", "unified/u/cgroup.procs", "$w"),
        ("mkdir", "unified/u/v"), ("mkdir", "pids/u/v"), ("write", "pids/u/v/tasks", "$w"),
        ("write", "unified/u/v/cgroup.procs", "$w"), ("proc", "w", "cgroup")]  # fmt: skip
