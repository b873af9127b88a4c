"""Moving processes and threads: what may be written, what is listed, where children start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case


def cases() -> Iterator[Case]:
    for layout, p, files in (
        ("v2", "", ("cgroup.procs", "cgroup.threads")),
        ("v1", "pids/", ("cgroup.procs", "tasks")),
        ("v1", "systemd/", ("cgroup.procs", "tasks")),
        ("v1", "freezer/", ("cgroup.procs", "tasks")),
    ):
        where = f" ({p.rstrip('/')})" if p else ""
        for name, ops in _everywhere(layout, p, files):
            yield Case(name + where, layout, tuple(ops))
    yield from _several_hierarchies()


def _everywhere(layout: str, p: str, files: tuple[str, str]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    procs, tasks = files
    make: list[tuple[Any, ...]] = [("mkdir", f"{p}a"), ("mkdir", f"{p}b"), ("mkdir", f"{p}a/c"), ("fork", "w")]
    look = [("read", f"{p}{d}/{f}") for d in ("a", "b") for f in files]

    texts: list[Any] = [
        "$w", " $w", "$w ", "$w\n", "\t$w\n", "$w\n\n", "\n$w", "+$w", "-$w", "$w\0", "$w\0x", "$w $w", "$w\n$w",
        "$w,$w", "$w,", "$wx",
        "$w.0", "x$w", "0", "00", "-0", "+0", " 0\n", "0x0", "", " ", "\n", "\0", "-1", "abc", "1.5", "1 1", "1,2",
        "max", "999999", "4194303",
        "4194304", "2147483646", "2147483647", "2147483648", "4294967295", "4294967296", "9223372036854775807",
        "18446744073709551616",
        "-2147483648", "2", "2\n", "0x2", "0x", "08", "self", {"repeat": ["0", 4000]},
        {"join": [{"repeat": [" ", 4000]}, "$w"]},
        {"repeat": [" ", 4097]},
    ]  # fmt: skip
    for file in files:
        yield f"{file} parses a pid", [
            *make, *[op for text in texts for op in (("write", f"{p}a/{file}", text), ("read", f"{p}a/{procs}"),
            ("write", f"{p}b/{file}", "$w"))]]  # fmt: skip
    yield "pid 1 and back", [
        *make, ("write", f"{p}a/{procs}", "1"), ("write", f"{p}{procs}", "1"), ("write", f"{p}a/{tasks}", "1"),
        ("write", f"{p}{tasks}", "1"),
        ("write", f"{p}a/{procs}", "0x1"), ("write", f"{p}{procs}", "01")]  # fmt: skip
    yield "the writer moves itself with 0", [
        *make, ("write", f"{p}a/{procs}", "0"), *look, ("in", "w", "write", f"{p}b/{procs}", "0"), *look,
        ("in", "w", "write", f"{p}a/{tasks}", "0"),
        *look, ("proc", "self", "cgroup"), ("proc", "w", "cgroup"), ("write", f"{p}{procs}", "0"), *look]  # fmt: skip
    yield "a process moves about", [
        *make, ("write", f"{p}a/{procs}", "$w"), *look, ("write", f"{p}a/{procs}", "$w"), *look,
        ("write", f"{p}b/{procs}", "$w"), *look,
        ("write", f"{p}{procs}", "$w"), *look, ("write", f"{p}a/c/{procs}", "$w"), ("proc", "w", "cgroup"),
        ("read", f"{p}a/c/{procs}"),
        ("write", f"{p}no/{procs}", "$w")]  # fmt: skip
    yield "the order of pids", [
        *make, ("fork", "x"), ("fork", "y"), ("write", f"{p}a/{procs}", "$y"), ("write", f"{p}a/{procs}", "$w"),
        ("write", f"{p}a/{procs}", "$x"),
        ("read", f"{p}a/{procs}"), ("read", f"{p}a/{tasks}"), ("in", "y", "fork", "z"), ("read", f"{p}a/{procs}"),
        ("write", f"{p}a/{procs}", "$w"),
        ("read", f"{p}a/{procs}"), ("write", f"{p}b/{procs}", "$w"), ("write", f"{p}a/{procs}", "$w"),
        ("read", f"{p}a/{procs}")]  # fmt: skip
    yield "children start where their parent is", [
        *make, ("write", f"{p}a/{procs}", "$w"), ("in", "w", "fork", "x"), ("in", "x", "fork", "y"), *look,
        ("write", f"{p}b/{procs}", "$w"), *look,
        ("in", "w", "fork", "z"), *look, ("proc", "z", "cgroup"), ("in", "x", "exit"), ("settle", 20),
        *look]  # fmt: skip
    yield "threads go with their process", [
        *make, ("in", "w", "thread", "t"), ("in", "w", "thread", "u"), *look, ("write", f"{p}a/{procs}", "$w"), *look,
        ("write", f"{p}b/{procs}", "$t"),
        *look, ("in", "w", "thread", "v"), *look, ("in", "t", "exit"), ("settle", 20), *look,
        ("write", f"{p}a/{procs}", "$v"), *look]  # fmt: skip
    yield f"{tasks} moves one thread", [
        *make, ("in", "w", "thread", "t"), ("write", f"{p}a/{procs}", "$w"), ("write", f"{p}b/{tasks}", "$t"), *look,
        ("in", "t", "thread", "u"), *look,
        ("in", "t", "fork", "x"), *look, ("rmdir", f"{p}b"), ("write", f"{p}a/c/{tasks}", "$w"), *look,
        ("read", f"{p}a/c/{procs}"),
        ("write", f"{p}b/{procs}", "$t"), *look, ("in", "u", "write", f"{p}a/{tasks}", "0"), *look]  # fmt: skip
    yield "a killed process with threads", [
        *make, ("in", "w", "thread", "t"), ("write", f"{p}a/{procs}", "$w"), ("in", "w", "thread", "u"), *look,
        ("kill", "w"), ("settle", 400), ("state", "w"), *look,
        ("wait", "w"), *look]  # fmt: skip
    yield "zombies are not listed", [
        *make, ("write", f"{p}a/{procs}", "$w"), ("in", "w", "exit", 3), ("state", "w"), *look,
        ("write", f"{p}b/{procs}", "$w"), *look,
        ("write", f"{p}b/{tasks}", "$w"), ("proc", "w", "cgroup"), ("rmdir", f"{p}a/c"), ("rmdir", f"{p}a"),
        ("proc", "w", "cgroup"), ("wait", "w"),
        ("write", f"{p}b/{procs}", "$w"), ("state", "w")]  # fmt: skip
    yield "into a removed cgroup", [
        *make, ("open", "h", f"{p}b/{procs}", "O_WRONLY"), ("rmdir", f"{p}b"), ("fwrite", "h", "$w"),
        ("fwrite", "h", "junk"), ("fwrite", "h", ""),
        ("proc", "w", "cgroup")]  # fmt: skip
    yield "start in another cgroup", [
        *make, ("clone_into", "x", f"{p}a"), *look, ("clone_into", "y", f"{p}no"),
        ("clone_into", "y", f"{p}a/{procs}"), ("clone_into", "z", p or "."),
        ("proc", "z", "cgroup")]  # fmt: skip
    yield "lists read in pieces", [
        *make, ("fork", "x"), ("write", f"{p}a/{procs}", "$w"), ("write", f"{p}a/{procs}", "$x"),
        ("open", "h", f"{p}a/{procs}"), ("fread", "h", 4096),
        ("fread", "h", 4096), ("write", f"{p}b/{procs}", "$x"), ("fread", "h", 100), ("lseek", "h", 0),
        ("fread", "h", 4096), ("fpread", "h", 4096, 0),
        ("lseek", "h", 0, "SEEK_END")]  # fmt: skip
    yield "the modes of the lists", [("mkdir", f"{p}a"), *(("stat", f"{p}{d}{f}") for d in ("", "a/") for f in files)]
    if layout == "v2":
        yield "who comes back to the root comes last", [
            *make, ("fork", "x"), ("in", "w", "thread", "t"), *(("read", f) for f in files),
            ("write", f"a/{procs}", "$w"), ("write", procs, "$w"), *(("read", f) for f in files), ("fork", "y"),
            ("in", "w", "thread", "u"), *(("read", f) for f in files), ("write", f"a/{procs}", "$x"),
            ("write", procs, "$x"), ("write", procs, "$w"), *(("read", f) for f in files),
            ("write", "a/cgroup.type", "threaded"), ("write", f"a/{tasks}", "$t"), ("write", tasks, "$t"),
            *(("read", f) for f in files), ("in", "w", "exit"), ("settle", 20), ("wait", "w"),
            *(("read", f) for f in files)]  # fmt: skip
        yield "start in a cgroup that has no CPU", [
            ("write", "cgroup.subtree_control", "+cpuset +pids"), ("mkdir", "a"), ("write", "a/cpuset.cpus", "1-2"),
            ("write", "a/cpuset.cpus.partition", "root"), ("write", "a/cgroup.subtree_control", "+cpuset +pids"),
            ("mkdir", "a/b"), ("write", "a/b/cpuset.cpus", "1-2"), ("write", "a/b/cpuset.cpus.partition", "root"),
            ("settle", 30), ("mkdir", "a/d"), ("read", "a/d/cpuset.cpus.effective"), ("clone_into", "y", "a/d"),
            ("write", "a/d/pids.max", "0"), ("clone_into", "y", "a/d"), ("read", "a/d/pids.events"),
            ("read", "a/d/pids.peak"), ("clone_into", "v", "a/b"), ("in", "v", "clone_into", "u", "a/d"),
            ("in", "v", "fork", "x"), ("read", "a/b/cgroup.procs"), ("write", "a/pids.max", "1"),
            ("in", "v", "clone_into", "u", "."), ("in", "v", "clone_into", "z", "a/b"), ("read", "a/pids.events"),
            ("read", "a/pids.peak"), ("read", "a/b/pids.peak"), ("read", "cgroup.procs")]  # fmt: skip
        yield "a parent that gives domain controllers takes no process", [
            ("write", "cgroup.subtree_control", "+memory +cpu +pids"), *make, ("write", "a/cgroup.subtree_control",
            "+pids"),
            ("write", "a/cgroup.procs", "$w"), ("read", "a/cgroup.type"), ("write", "cgroup.procs", "$w"),
            ("write", "a/cgroup.subtree_control", "+memory"), ("write", "a/cgroup.procs", "$w"),
            ("write", "a/cgroup.threads", "$w"),
            ("write", "a/cgroup.procs", "999999"), ("write", "a/cgroup.procs", "abc"),
            ("write", "a/c/cgroup.procs", "$w"),
            ("write", "a/cgroup.procs", "$w"), ("read", "a/cgroup.procs"), ("clone_into", "x", "a"),
            ("clone_into", "y", "a/c"),
            ("write", "a/cgroup.subtree_control", "-memory"), ("write", "a/cgroup.procs", "$w")]  # fmt: skip


def _several_hierarchies() -> Iterator[Case]:
    yield Case("every hierarchy has its own place", "v1", (
        ("mkdir", "pids/a"), ("mkdir", "freezer/b"), ("mkdir", "cpu,cpuacct/c"), ("fork", "w"),
        ("write", "pids/a/tasks", "$w"),
        ("write", "freezer/b/tasks", "$w"), ("proc", "w", "cgroup"), ("write", "cpu,cpuacct/c/tasks", "$w"),
        ("in", "w", "fork", "x"),
        ("read", "pids/a/tasks"), ("read", "freezer/b/tasks"), ("read", "cpu,cpuacct/c/tasks"),
        ("write", "pids/tasks", "$w"),
        ("proc", "w", "cgroup"), ("proc", "x", "cgroup")))  # fmt: skip
