"""Threaded cgroups on v2: types, which transitions are allowed, what moves where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.file_sets import CONTROLLERS_V2

TYPE = "cgroup.type"
SUBTREE = "cgroup.subtree_control"


def _types(*groups: str) -> list[tuple[Any, ...]]:
    return [("read", f"{group}/{TYPE}") for group in groups]


def cases() -> Iterator[Case]:
    words = ["threaded", "threaded\n", " threaded ", "\tthreaded", "threaded\0x", "Threaded", "thread", "threadedx",
        "domain", "domain threaded",
             "domain invalid", "", "\n", " ", "\0", "0", "1", {"join": ["threaded", {"repeat": [" ", 4088]}]},
             {"join": ["threaded", {"repeat": [" ", 4089]}]}]  # fmt: skip
    yield Case("cgroup.type takes one word", "v2", tuple(
        op for i, word in enumerate(words) for op in (("mkdir", f"g{i}"), ("write", f"g{i}/{TYPE}", word),
        ("read", f"g{i}/{TYPE}"))))  # fmt: skip
    tree = (("mkdir", "a"), ("mkdir", "a/b"), ("mkdir", "a/b/c"), ("mkdir", "a/d"), ("fork", "w"))
    every = ("a", "a/b", "a/b/c", "a/d")
    look = _types(*every)
    yield Case("a threaded child changes its relatives", "v2", (
        *tree, *look, ("write", f"a/b/{TYPE}", "threaded"), *look, ("write", f"a/b/{TYPE}", "threaded"),
        ("write", f"a/b/{TYPE}", "domain"),
        ("mkdir", "a/e"), *_types("a/e"), ("mkdir", "a/b/f"), *_types("a/b/f"), ("write", f"a/b/c/{TYPE}",
        "threaded"), *look,
        ("write", f"a/d/{TYPE}", "threaded"), *look, ("rmdir", "a/b/c"), ("rmdir", "a/b/f"), ("rmdir", "a/b"),
        ("rmdir", "a/d"), *_types("a", "a/e"),
        ("mkdir", "a/g"), *_types("a/g")))  # fmt: skip
    yield Case("the last threaded child gone makes a domain again", "v2", (
        *tree, ("rmdir", "a/b/c"), ("write", f"a/b/{TYPE}", "threaded"), *_types("a", "a/d"), ("rmdir", "a/b"),
        *_types("a", "a/d"),
        ("write", "a/d/cgroup.procs", "$w"), ("read", "a/d/cgroup.procs")))  # fmt: skip
    yield Case("from below upwards", "v2", (
        *tree, ("write", f"a/b/c/{TYPE}", "threaded"), *look, ("write", f"a/b/{TYPE}", "threaded"), *look,
        ("write", f"a/{TYPE}", "threaded"), *look,
        ("write", f"a/d/{TYPE}", "threaded"), *look))  # fmt: skip
    yield Case("threaded below an invalid domain", "v2", (
        *tree, ("write", f"a/b/{TYPE}", "threaded"), ("mkdir", "a/d/e"), *_types("a/d/e"),
        ("write", f"a/d/e/{TYPE}", "threaded"), *_types("a/d", "a/d/e"),
        ("write", f"a/d/{TYPE}", "threaded"), *_types("a/d", "a/d/e"), ("write", f"a/d/e/{TYPE}", "threaded"),
        *_types("a/d", "a/d/e")))  # fmt: skip
    yield Case("a populated cgroup does not become threaded", "v2", (
        *tree, ("write", "a/b/cgroup.procs", "$w"), ("write", f"a/b/{TYPE}", "threaded"), *look,
        ("write", f"a/b/c/{TYPE}", "threaded"), *look,
        ("write", "a/cgroup.procs", "$w"), ("write", f"a/b/{TYPE}", "threaded"), *look))  # fmt: skip
    yield Case("a child of the root becomes threaded", "v2", (
        *tree, ("write", f"a/{TYPE}", "threaded"), *look, ("read", TYPE), ("mkdir", "z"), *_types("z"),
        ("write", "z/cgroup.procs", "$w"),
        ("read", "z/cgroup.procs"), ("write", "a/cgroup.procs", "$w"), ("read", "a/cgroup.procs"),
        ("read", "a/cgroup.threads"), ("read", "a/cgroup.controllers")))  # fmt: skip
    yield Case("processes and threads in a threaded tree", "v2", (
        *tree, ("in", "w", "thread", "t"), ("write", f"a/b/{TYPE}", "threaded"), ("write", f"a/d/{TYPE}", "threaded"),
        ("write", "a/b/cgroup.threads", "$t"),
        ("write", "a/cgroup.procs", "$w"), ("write", "a/b/cgroup.threads", "$t"), ("read", "a/cgroup.procs"),
        ("read", "a/cgroup.threads"),
        ("read", "a/b/cgroup.procs"), ("read", "a/b/cgroup.threads"), ("write", "a/d/cgroup.threads", "$w"),
        ("read", "a/d/cgroup.threads"),
        ("read", "a/cgroup.procs"), ("write", "a/d/cgroup.procs", "$t"), ("read", "a/d/cgroup.threads"),
        ("read", "a/b/cgroup.threads"),
        ("rmdir", "a/b/c"), ("rmdir", "a/d"), ("proc", "w", "cgroup"), ("write", "cgroup.procs", "$w"),
        ("read", "a/cgroup.procs"),
        ("write", "a/b/cgroup.threads", "$w"), ("write", "a/b/cgroup.procs", "$w"), ("read", "a/b/cgroup.threads"),
        ("read", "a/cgroup.events"),
        ("read", "a/b/cgroup.events"), ("write", "cgroup.threads", "$t"), ("clone_into", "x", "a/b"),
        ("read", "a/b/cgroup.threads")))  # fmt: skip
    yield Case("what is threaded below goes to the domain of one that becomes threaded above it", "v2", (
        ("mkdir", "a"), ("mkdir", "a/c"), ("mkdir", "a/c/d"), ("mkdir", "a/c/e"), ("fork", "w"), ("fork", "x"),
        ("in", "w", "thread", "t"), ("write", f"a/c/d/{TYPE}", "threaded"), ("write", "a/c/d/cgroup.procs", "$x"),
        ("write", f"a/{TYPE}", "threaded"), ("write", "a/c/d/cgroup.procs", "$x"), ("write", "cgroup.procs", "$x"),
        ("write", f"a/{TYPE}", "threaded"), *(("read", f"{d}/{TYPE}") for d in ("a", "a/c", "a/c/d", "a/c/e")),
        ("clone_into", "y", "a/c/d"), ("write", "a/c/d/cgroup.procs", "$w"), ("write", "a/c/d/cgroup.threads", "$t"),
        ("write", "a/c/cgroup.procs", "$w"), ("write", "a/cgroup.threads", "$t"), ("read", "a/c/d/cgroup.procs"),
        ("read", "a/c/d/cgroup.threads"), ("read", "a/c/cgroup.procs"), ("read", "a/cgroup.threads"),
        ("read", "cgroup.procs"), ("read", "a/cgroup.events"), ("write", f"a/c/{TYPE}", "threaded"),
        *(("read", f"{d}/{TYPE}") for d in ("a", "a/c", "a/c/d", "a/c/e")), ("write", "a/c/cgroup.threads", "$t"),
        ("read", "a/c/cgroup.threads"), ("write", f"a/c/e/{TYPE}", "threaded"), ("read", f"a/c/e/{TYPE}"),
        ("write", "a/c/d/cgroup.kill", "1"), ("write", "a/c/e/cgroup.procs", "$x")))  # fmt: skip
    yield Case("nothing moves into an invalid domain", "v2", (
        *tree, ("write", f"a/b/{TYPE}", "threaded"), ("write", "a/d/cgroup.procs", "$w"),
        ("write", "a/d/cgroup.threads", "$w"),
        ("write", "a/d/cgroup.procs", "999999"), ("write", "a/d/cgroup.procs", "abc"), ("clone_into", "x", "a/d"),
        ("read", "a/d/cgroup.procs"),
        ("read", "a/d/cgroup.threads"), ("read", "a/b/cgroup.procs"), ("read", "a/d/cgroup.controllers"),
        ("write", "a/d/cgroup.freeze", "1"),
        ("read", "a/d/cgroup.events"), ("write", "a/d/cgroup.max.depth", "0"), ("mkdir", "a/d/x"),
        ("write", "a/b/cgroup.kill", "1"),
        ("write", "a/d/cgroup.kill", "1"), ("write", "a/cgroup.kill", "1")))  # fmt: skip
    for controller in CONTROLLERS_V2:
        yield Case(f"{controller} in a threaded tree", "v2", (
            ("write", SUBTREE, f"+{controller}"), *tree, ("write", f"a/b/{TYPE}", "threaded"),
            ("read", "a/cgroup.controllers"),
            ("read", "a/b/cgroup.controllers"), ("read", "a/d/cgroup.controllers"),
            ("write", f"a/{SUBTREE}", f"+{controller}"), ("read", f"a/{SUBTREE}"),
            *look, ("read", "a/b/cgroup.controllers"), ("read", "a/d/cgroup.controllers"),
            ("write", f"a/b/{SUBTREE}", f"+{controller}"),
            ("write", f"a/d/{SUBTREE}", f"+{controller}"), ("listdir", "a/b"), ("write", f"a/b/{SUBTREE}",
            f"-{controller}"),
            ("write", f"a/{SUBTREE}", f"-{controller}")))  # fmt: skip
        yield Case(f"threaded where {controller} is passed on", "v2", (
            ("write", SUBTREE, f"+{controller}"), *tree, ("write", f"a/{SUBTREE}", f"+{controller}"),
            ("write", f"a/b/{TYPE}", "threaded"), *look,
            ("write", f"a/{TYPE}", "threaded"), *look, ("write", f"a/b/c/{TYPE}", "threaded"), *look))  # fmt: skip
    yield Case("a process beside a threaded controller makes a thread root", "v2", (
        ("write", SUBTREE, "+pids +memory"), *tree, ("write", f"a/{SUBTREE}", "+pids"), *look,
        ("write", "a/cgroup.procs", "$w"), *look,
        ("write", f"a/{SUBTREE}", "+memory"), ("write", "a/b/cgroup.procs", "$w"), ("write", "cgroup.procs", "$w"),
        *look,
        ("write", f"a/{SUBTREE}", "+memory"), *look, ("write", "a/cgroup.procs", "$w")))  # fmt: skip
