"""memory in use that can, or cannot, be swapped out: limits below it, limits on swap, reclaim on demand.

Only a machine with swap is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import each_read_back

_USED = 12 << 20  # bytes that a process has touched


def cases() -> Iterator[Case]:
    yield from _v2()
    yield from _v1()


def _v2() -> Iterator[Case]:
    setup = child("v2", "memory")
    used = (*setup, ("fork", "w"), ("write", "a/cgroup.procs", "$w"), ("in", "w", "alloc", _USED))
    what_became = (("state", "w"), *(("read", f"a/memory.{name}") for name in ("events", "swap.events")))
    for name in ("max", "high"):
        yield Case(f"memory.{name} below what is in use", "v2", (
            *used, *each_read_back(f"a/memory.{name}", ["4M"]), *what_became))  # fmt: skip
        yield Case(f"memory.{name} below what is in use, swap.max 0", "v2", (
            *used, ("write", "a/memory.swap.max", "0"), *each_read_back(f"a/memory.{name}", ["4M"]),
            *what_became))  # fmt: skip
    yield Case("memory over memory.max with little swap", "v2", (
        *setup, ("fork", "w"), ("write", "a/cgroup.procs", "$w"), ("write", "a/memory.max", "4M"),
        ("write", "a/memory.swap.max", "2M"), ("in", "w", "alloc", _USED), *what_became))  # fmt: skip
    yield Case("memory over memory.max, the parent has no swap", "v2", (
        *child("v2", "memory", "a", "a/b"), ("write", "a/memory.swap.max", "0"), ("write", "a/b/memory.max", "4M"),
        ("fork", "w"), ("write", "a/b/cgroup.procs", "$w"), ("in", "w", "alloc", _USED), ("state", "w"),
        *(("read", f"{group}/memory.{name}") for group in ("a", "a/b")
          for name in ("events", "swap.events"))))  # fmt: skip
    yield Case("swap limits below what is swapped out", "v2", (
        *used, ("write", "a/memory.max", "4M"), *each_read_back("a/memory.swap.high", ["1M", "0", "max"]),
        *each_read_back("a/memory.swap.max", ["1M", "0", "max"]), *what_became))  # fmt: skip
    sizes = ("4M", "2M swappiness=0", "2M swappiness=200", "2M swappiness=max", "4096", "1G", "max", "", "-1")
    yield Case("memory.reclaim of what is in use", "v2", (
        *used, *(("write", "a/memory.reclaim", text) for text in sizes), *what_became))  # fmt: skip
    yield Case("memory.reclaim with swap.max 0", "v2", (
        *used, ("write", "a/memory.swap.max", "0"),
        *(("write", "a/memory.reclaim", text) for text in ("4M", "2M swappiness=200", "4096")),
        *what_became))  # fmt: skip
    yield Case("memory.swap.peak is reset by a write", "v2", (
        *used, ("open", "h", "a/memory.swap.peak", "O_RDWR"), ("fwrite", "h", "x"), ("fpread", "h", 50, 0),
        ("write", "a/memory.max", "4M"), ("fwrite", "h", ""), ("fpread", "h", 50, 0)))  # fmt: skip
    yield Case("memory.zswap.* of what is swapped out", "v2", (
        *used, ("write", "a/memory.zswap.max", "0"), ("write", "a/memory.zswap.writeback", "0"),
        ("write", "a/memory.max", "4M"), *what_became, ("read", "a/memory.zswap.current")))  # fmt: skip
    yield Case("what is swapped out leaves with its process", "v2", (
        *used, ("write", "a/memory.max", "4M"), ("kill", "w"), ("wait", "w"), ("rmdir", "a"), ("mkdir", "a"),
        ("read", "a/memory.max"), ("read", "a/memory.swap.events")))  # fmt: skip


def _v1() -> Iterator[Case]:
    a = "memory/a/memory."
    limit, memsw = a + "limit_in_bytes", a + "memsw.limit_in_bytes"
    setup = (*child("v1", "memory"), ("fork", "w"), ("write", "memory/a/tasks", "$w"))
    used: tuple[tuple[Any, ...], ...] = (*setup, ("in", "w", "alloc", _USED))
    what_became = (("state", "w"), *(("read", a + name) for name in ("oom_control", "failcnt", "memsw.failcnt")))
    yield Case("v1 limits below what is in use", "v1", (
        *used, *each_read_back(limit, ["8M", "4M", "0"]), *each_read_back(memsw, ["8M", "4M", "16M"]),
        ("write", limit, "-1"), *each_read_back(limit, ["16M"]), *what_became))  # fmt: skip
    yield Case("v1 limits below what is in use, swappiness 0", "v1", (
        *used, ("write", a + "swappiness", "0"), *each_read_back(limit, ["8M"]), *what_became))  # fmt: skip
    yield Case("memory over a v1 limit", "v1", (
        *setup, ("write", limit, "4M"), ("in", "w", "alloc", _USED), *what_became,
        ("read", a + "max_usage_in_bytes"), ("read", a + "memsw.max_usage_in_bytes"),
        ("read", a + "stat")))  # fmt: skip
    yield Case("memory over a v1 limit and that of memsw", "v1", (
        *setup, ("write", limit, "4M"), ("write", memsw, "4M"), ("in", "w", "alloc", _USED),
        *what_became))  # fmt: skip
    yield Case("memory over a v1 limit, swappiness 0", "v1", (
        *setup, ("write", a + "swappiness", "0"), ("write", limit, "4M"), ("in", "w", "alloc", _USED),
        *what_became))  # fmt: skip
    yield Case("memory over a v1 limit, the parent's memsw is full", "v1", (
        *child("v1", "memory", "a", "a/b"), ("fork", "w"), ("write", "memory/a/b/tasks", "$w"),
        ("write", "memory/a/b/memory.limit_in_bytes", "4M"), ("write", limit, "8M"), ("write", memsw, "8M"),
        ("in", "w", "alloc", _USED), *what_became, ("read", "memory/a/b/memory.oom_control")))  # fmt: skip
    yield Case("memory.force_empty of what is in use", "v1", (
        *used, ("write", a + "force_empty", "0"), *each_read_back(limit, ["4M"]), *what_became))  # fmt: skip
    yield Case("v1 limits of what is swapped out", "v1", (
        *used, ("write", limit, "4M"), *each_read_back(memsw, ["32M", "4M", "12M"]), ("kill", "w"), ("wait", "w"),
        *each_read_back(memsw, ["4M", "2M"]), ("rmdir", "memory/a"), ("mkdir", "memory/a"), ("read", limit),
        ("read", memsw)))  # fmt: skip
