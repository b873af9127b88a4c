"""Open files: flags, partial reads, positions, handles that outlive their cgroup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import at, child


def cases() -> Iterator[Case]:
    for layout, controller, value, other, ro, wo in (
        ("v2", "pids", "pids.max", "cgroup.max.depth", "pids.current", "cgroup.kill"),
        ("v2", "cpu", "cpu.max", "cpu.weight", "cpu.stat", "memory.reclaim"),
        ("v1", "pids", "pids.max", "notify_on_release", "pids.current", "cgroup.event_control"),
        ("v1", "cpu", "cpu.shares", "cpu.cfs_quota_us", "cpu.stat", "cpuacct.usage"),
        ("v1", "devices", "cgroup.clone_children", "tasks", "devices.list", "devices.deny"),
    ):
        for name, ops in _on(layout, controller, value, other, ro, wo):
            yield Case(f"{name} ({controller})", layout, (*child(layout, controller), *ops))


def _on(
    layout: str, controller: str, value: str, other: str, ro: str, wo: str
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    directory = at(layout, controller, "a")
    rw, r, w = (f"{directory}/{name}" for name in (value, ro, wo))
    off = ("write", "cgroup.subtree_control", f"-{controller}")
    on = ("write", "cgroup.subtree_control", f"+{controller}")

    flags = ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_WRONLY|O_TRUNC", "O_RDONLY|O_TRUNC", "O_WRONLY|O_APPEND",
        "O_RDWR|O_NONBLOCK",
             "O_RDWR|O_SYNC", "O_RDONLY|O_DIRECTORY", "O_RDWR|O_DIRECT", "O_RDONLY|O_NOFOLLOW", "O_RDONLY|O_NOATIME",
             "O_WRONLY|O_CREAT",
             "O_WRONLY|O_CREAT|O_EXCL", "O_RDWR|O_TMPFILE", "O_RDONLY|O_PATH", "O_RDWR|O_DSYNC",
             "O_RDWR|O_NOCTTY"]  # fmt: skip
    yield "open flags", [
        op for flag in flags for path in (rw, r, w, directory, f"{directory}/no") for op in
        (("open", "h", path, flag), ("close", "h"))]  # fmt: skip
    yield "what can be read and written as root", [
        op for path in (rw, r, w) for flag in ("O_RDONLY", "O_WRONLY", "O_RDWR") for op in
        (("open", "h", path, flag), ("fwrite", "h", ""), ("fwrite", "h", "junk"), ("fpread", "h", 4096, 0),
        ("close", "h"))]  # fmt: skip
    use = (("fread", "h", 1), ("fwrite", "h", "1"))
    yield "directories, paths and nothing as open files", [
        *[op for path, flag in ((rw, "O_PATH"), (directory, "O_PATH"), (directory, "O_RDONLY")) for op in (
            ("open", "h", path, flag), *use, ("fpread", "h", 1, 0), ("fpread", "h", 1, -1), ("fpwrite", "h", "1", 0),
            ("fpwrite", "h", "1", -1), ("ftruncate", "h", 0), ("ftruncate", "h", -1), ("lseek", "h", 0), ("fsync", "h"),
            ("fstat", "h"), ("poll", "h", "IN|PRI|OUT"), ("close", "h"))],
        *use, ("fpread", "h", 1, -1), ("fpwrite", "h", "1", -1), ("ftruncate", "h", -1), ("fsync", "h"),
        ("lseek", "h", 0), ("open", "h", rw), ("open", "h", f"{directory}/no"), ("fread", "h", 4096)]  # fmt: skip
    yield "reading in pieces", [
        *[op for path in (rw, r) for op in (
            ("open", "h", path), ("fread", "h", 0), ("fread", "h", 1), ("fread", "h", 1), ("fread", "h", 2),
            ("fread", "h", 100),
            ("fread", "h", 100), ("lseek", "h", 0), ("fread", "h", 3), ("lseek", "h", 1), ("fread", "h", 100),
            ("lseek", "h", 100000),
            ("fread", "h", 10), ("fpread", "h", 10, 0), ("fpread", "h", 10, 2), ("fpread", "h", 10, 100000),
            ("fpread", "h", 10, -1),
            ("lseek", "h", 0, "SEEK_CUR"), ("close", "h"))]]  # fmt: skip
    yield "reading goes on with the text it began", [
        ("open", "h", rw), ("fread", "h", 1), ("write", rw, "5000"), ("fread", "h", 100), ("fread", "h", 100),
        ("lseek", "h", 0),
        ("fread", "h", 100), ("write", rw, "6000"), ("fpread", "h", 100, 1), ("fpread", "h", 100, 0),
        ("fpread", "h", 100, 1),
        ("lseek", "h", 0), ("fread", "h", 2), ("write", rw, "7000"), ("lseek", "h", 2), ("fread", "h", 10),
        ("lseek", "h", 1),
        ("fread", "h", 10)]  # fmt: skip
    yield "lseek", [
        ("open", "h", rw), *[op for whence in ("SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE", 5)
                             for offset in (0, 1, 5, -1, -5, 4096, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1)
                             for op in (("lseek", "h", 3), ("lseek", "h", offset, whence))],
        ("lseek", "h", 0), ("lseek", "h", -1, "SEEK_CUR"), ("fread", "h", 2), ("lseek", "h", -1, "SEEK_CUR"),
        ("fread", "h", 10)]  # fmt: skip
    yield "lseek in a directory", [
        ("open", "h", directory), *[op for whence in ("SEEK_SET", "SEEK_CUR", "SEEK_END")
                                    for offset in (0, 5, -1, (1 << 31) - 1, 1 << 31, 1 << 62, (1 << 63) - 1)
                                    for op in (("lseek", "h", 3), ("lseek", "h", offset, whence))]]  # fmt: skip
    yield "writing moves the position", [
        ("open", "h", rw, "O_RDWR"), ("fwrite", "h", "2000"), ("lseek", "h", 0, "SEEK_CUR"), ("fread", "h", 100),
        ("fpread", "h", 100, 0),
        ("fwrite", "h", "3000\n"), ("lseek", "h", 0, "SEEK_CUR"), ("fpwrite", "h", "4000", 100),
        ("fpread", "h", 100, 0),
        ("fpwrite", "h", "4500", -1), ("fwrite", "h", "junk"), ("lseek", "h", 0, "SEEK_CUR"), ("fwrite", "h", ""),
        ("lseek", "h", 1, "SEEK_SET"), ("fwrite", "h", "5000"), ("fread", "h", 100), ("lseek", "h", 0),
        ("fread", "h", 2),
        ("fwrite", "h", "6000"), ("fread", "h", 100), ("lseek", "h", 0), ("fread", "h", 100), ("read", rw)]  # fmt: skip
    yield "appending and truncating change nothing", [
        ("write", rw, "2000"), ("open", "h", rw, "O_WRONLY|O_APPEND"), ("fwrite", "h", "3000"),
        ("fwrite", "h", "4000"), ("read", rw),
        ("open", "h", rw, "O_RDWR|O_TRUNC"), ("fread", "h", 100), ("ftruncate", "h", 0), ("ftruncate", "h", 10),
        ("ftruncate", "h", -1),
        ("fpread", "h", 100, 0), ("fstat", "h"), ("fsync", "h"), ("open", "h", rw, "O_RDONLY"), ("ftruncate", "h", 0),
        ("fsync", "h"),
        ("fwrite", "h", "1"), ("open", "h", rw, "O_WRONLY"), ("fread", "h", 1), ("fpread", "h", 1, 0),
        ("read", rw)]  # fmt: skip
    yield "an open directory", [
        ("open", "d", directory, "O_RDONLY|O_DIRECTORY"), ("fread", "d", 10), ("fwrite", "d", "x"), ("fstat", "d"),
        ("ftruncate", "d", 0),
        ("fsync", "d"), ("lseek", "d", 0), ("open", "e", directory, "O_RDWR"), ("open", "e", directory,
        "O_WRONLY")]  # fmt: skip
    yield "a handle of a closed file", [
        ("open", "h", rw), ("close", "h"), ("close", "h"), ("fread", "h", 1), ("fwrite", "h", "1"), ("fstat", "h"),
        ("lseek", "h", 0)]  # fmt: skip
    handles = [("open", "n", rw, "O_RDWR"), ("open", "p", r), ("fread", "p", 1), ("open", "q", rw, "O_RDWR"),
        ("fread", "q", 100),
               ("open", "o", rw, "O_WRONLY"), ("open", "d", directory, "O_RDONLY|O_DIRECTORY")]  # fmt: skip
    after = [op for h in ("n", "p", "q", "o") for op in
             (("fread", h, 100), ("fpread", h, 100, 0), ("fwrite", h, ""), ("fwrite", h, "junk"),
             ("fwrite", h, "5000"), ("fpwrite", h, "1", 0),
              ("poll", h, "IN|OUT|PRI"), ("fstat", h), ("lseek", h, 0), ("lseek", h, 0, "SEEK_END"),
              ("fread", h, 100), ("ftruncate", h, 0),
              ("fsync", h))]  # fmt: skip
    yield "handles of a removed cgroup", [
        *handles, ("rmdir", directory), *after, ("fstat", "d"), ("lseek", "d", 0), ("mkdir", directory),
        ("fpread", "n", 100, 0),
        ("fwrite", "n", "5000"), ("read", rw), ("close", "n")]  # fmt: skip
    if layout == "v2":
        yield "handles of files whose controller went", [
            *handles, off, *after, ("fstat", "d"), on, ("fpread", "n", 100, 0), ("fwrite", "n", "5000"),
            ("read", rw)]  # fmt: skip
    yield "a renamed cgroup keeps its handles", [
        ("open", "n", rw, "O_RDWR"), ("rename", directory, directory + "2"), ("fwrite", "n", "5000"),
        ("fpread", "n", 100, 0),
        ("fstat", "n"), ("read", f"{directory}2/{value}")]  # fmt: skip
    yield "poll of plain files", [
        op for path in (rw, r, f"{directory}/{other}", f"{directory}/cgroup.procs") for op in (
            ("open", "h", path, "O_RDONLY"), ("poll", "h", "IN|OUT|PRI"), ("fread", "h", 100),
            ("poll", "h", "IN|OUT|PRI"), ("poll", "h", "IN"),
            ("poll", "h", "PRI"), ("poll", "h", "OUT"), ("close", "h"))]  # fmt: skip
    yield "writing in two pieces", [
        ("open", "h", rw, "O_WRONLY"), ("fwrite", "h", "50"), ("fwrite", "h", "00"), ("read", rw),
        ("fwrite", "h", "2000\n3000"), ("read", rw)]  # fmt: skip
