"""Cgroup namespaces as boundaries of delegation, with nsdelegate: what who is in one may write, and move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case

_FILES = (
    *("cgroup.max.depth", "cgroup.max.descendants", "cgroup.freeze", "cgroup.type", "cgroup.kill", "cgroup.pressure"),
    *("cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "pids.max", "memory.max", "memory.oom.group"),
    *("memory.reclaim", "memory.high", "memory.swap.max", "cpu.max", "cpu.weight", "cpu.idle", "cpuset.cpus"),
    *("cpuset.cpus.partition", "io.max", "io.weight", "hugetlb.2MB.max", "rdma.max", "misc.max", "cpu.pressure"),
    "cgroup.events",
)
_INSIDE: list[tuple[Any, ...]] = [
    ("write", "cgroup.subtree_control", "+cpu +cpuset +memory +pids +io +hugetlb +rdma"),
    ("write", "cgroup.subtree_control", "+misc"),
    ("mkdir", "a"),
    ("mkdir", "a/b"),
    ("mkdir", "o"),
    ("fork", "in"),
    ("fork", "out"),
    ("write", "a/cgroup.procs", "$in"),
    ("in", "in", "unshare"),
]


def cases() -> Iterator[Case]:
    yield _case(
        "the files of a namespace's own root",
        *(("in", "in", "write", f"a/{file}", "junk") for file in _FILES),
        *(("write", f"a/{file}", "junk") for file in _FILES),
    )
    yield _case(
        "good values in a namespace's own root",
        ("in", "in", "write", "a/pids.max", "5"),
        ("in", "in", "write", "a/memory.oom.group", "1"),
        ("in", "in", "write", "a/pids.max", ""),
        ("in", "in", "write", "a/pids.max", {"repeat": ["5", 5000]}),
        ("in", "in", "write", "a/b/cgroup.max.depth", "5"),
        ("in", "in", "write", "o/pids.max", "5"),
        ("in", "in", "write", "cgroup.max.depth", "max"),
        ("read", "a/pids.max"),
        ("read", "a/memory.oom.group"),
        ("in", "in", "mkdir", "a/c"),
        ("in", "in", "rmdir", "a/c"),
        ("in", "in", "mkdir", "c"),
        ("in", "in", "chmod", "a/pids.max", "0600"),
    )
    yield _case(
        "nothing moves across a namespace's boundary",
        ("in", "in", "write", "a/b/cgroup.procs", "0"),
        ("in", "in", "write", "a/cgroup.procs", "0"),
        ("in", "in", "write", "o/cgroup.procs", "0"),
        ("in", "in", "write", "cgroup.procs", "0"),
        ("in", "in", "write", "a/b/cgroup.procs", "$out"),
        ("in", "in", "write", "a/b/cgroup.threads", "$out"),
        ("in", "in", "write", "o/cgroup.procs", "$out"),
        ("in", "in", "write", "a/cgroup.subtree_control", "+pids"),
        ("write", "a/b/cgroup.procs", "$out"),
        ("in", "in", "write", "a/cgroup.procs", "$out"),
        ("read", "a/cgroup.procs"),
        ("read", "a/b/cgroup.procs"),
    )
    yield _case(
        "a file is written in the namespace in which it was opened",
        ("fork", "late"),
        ("write", "o/cgroup.procs", "$late"),
        ("in", "late", "open", "f", "o/pids.max", "O_RDWR"),
        ("in", "late", "unshare"),
        ("in", "late", "fwrite", "f", "7"),
        ("in", "late", "write", "o/pids.max", "8"),
        ("in", "late", "open", "g", "o/pids.max", "O_RDWR"),
        ("in", "late", "fwrite", "g", "9"),
        ("read", "o/pids.max"),
    )
    yield _case(
        "a child is in its parent's namespace, and who is moved out stays in it",
        ("in", "in", "fork", "child"),
        ("in", "child", "write", "a/pids.max", "5"),
        ("write", "o/cgroup.procs", "$in"),
        ("in", "in", "write", "a/pids.max", "5"),
        ("in", "in", "write", "o/pids.max", "5"),
        ("in", "in", "write", "a/cgroup.procs", "0"),
        ("in", "in", "write", "o/cgroup.procs", "0"),
    )
    yield _case(
        "a namespace in a namespace, and one whose root is the root",
        ("in", "in", "write", "a/b/cgroup.procs", "0"),
        ("in", "in", "unshare"),
        ("in", "in", "write", "a/pids.max", "5"),
        ("in", "in", "write", "a/b/cgroup.max.depth", "5"),
        ("in", "in", "write", "a/cgroup.procs", "0"),
        ("in", "out", "unshare"),
        ("in", "out", "write", "cgroup.max.depth", "max"),
        ("in", "out", "write", "a/pids.max", "6"),
        ("in", "out", "write", "cgroup.subtree_control", "+pids"),
        ("in", "out", "write", "o/cgroup.procs", "0"),
    )
    yield _case(
        "no process starts across a namespace's boundary",
        ("in", "in", "clone_into", "x", "a/b"),
        ("in", "in", "clone_into", "y", "o"),
    )


def _case(name: str, *ops: tuple[Any, ...]) -> Case:
    return Case(name, "v2", (*_INSIDE, *ops))
