"""Files that are copied in the kernel: sendfile(2), splice(2), copy_file_range(2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case

_OPEN: list[tuple[Any, ...]] = [
    ("mkdir", "a"),
    ("mkdir", "b"),
    ("write", "a/cgroup.max.depth", "12345"),
    ("open", "f", "a/cgroup.max.depth", "O_RDWR"),
    ("open", "g", "b/cgroup.max.depth", "O_RDWR"),
]


def cases() -> Iterator[Case]:
    yield _case(
        "sendfile copies a value, whatever fstat has said",
        ("fstat", "f"),
        ("sendfile", "f", 100),
        ("lseek", "f", 0, "SEEK_CUR"),
        ("sendfile", "f", 100),
        ("lseek", "f", 0),
        ("fstat", "f"),
        ("sendfile", "f", 2),
        ("sendfile", "f", 2),
        ("sendfile", "f", 100),
        ("sendfile", "f", 100),
    )
    yield _case(
        "sendfile from a position leaves that of the file",
        ("sendfile", "f", 100, 3),
        ("sendfile", "f", 100, 6),
        ("sendfile", "f", 100, 7),
        ("lseek", "f", 0, "SEEK_CUR"),
        ("sendfile", "f", 100, 0),
        ("fread", "f", 2),
        ("sendfile", "f", 100),
    )
    yield _case(
        "a copy after a change is of the new value",
        ("sendfile", "f", 100),
        ("write", "a/cgroup.max.depth", "7"),
        ("lseek", "f", 0),
        ("sendfile", "f", 100),
        ("fwrite", "f", "123456789"),
        ("lseek", "f", 0),
        ("sendfile", "f", 100),
        ("lseek", "f", 0),
        ("write", "a/cgroup.max.depth", "max"),
        ("splice", "f", 100),
    )
    yield _case(
        "splice to a pipe and from one",
        ("splice", "f", 3),
        ("splice", "f", 100),
        ("splice", "f", 100),
        ("splice", "f", 100, 4),
        ("splice_to", "g", "77"),
        ("read", "b/cgroup.max.depth"),
        ("splice_to", "g", "55", 2),
        ("read", "b/cgroup.max.depth"),
        ("splice_to", "g", "junk"),
    )
    yield _case(
        "sendfile to a file is a write",
        ("sendfile_to", "g", "77"),
        ("read", "b/cgroup.max.depth"),
        ("sendfile_to", "g", "junk"),
        ("sendfile_to", "g", "-5"),
        ("read", "b/cgroup.max.depth"),
    )
    yield _case(
        "copy_file_range copies nothing from one file to another, and not to another file system",
        ("copy_range", "f", "g", 100),
        ("read", "b/cgroup.max.depth"),
        ("fstat", "f"),
        ("copy_range", "f", "g", 100),
        ("copy_out", "f", 100),
        ("copy_in", "f", "77"),
        ("read", "a/cgroup.max.depth"),
    )
    yield _case(
        "what is not open for it is not copied",
        ("open", "w", "a/cgroup.max.depth", "O_WRONLY"),
        ("open", "r", "a/cgroup.max.depth"),
        ("sendfile", "w", 100),
        ("splice", "w", 100),
        ("sendfile_to", "r", "7"),
        ("splice_to", "r", "7"),
        ("copy_range", "w", "g", 100),
        ("copy_range", "f", "r", 100),
        ("copy_out", "w", 100),
        ("copy_in", "r", "7"),
    )
    yield _case(
        "an empty list and one that fills",
        ("open", "p", "a/cgroup.procs"),
        ("sendfile", "p", 100),
        ("fork", "child"),
        ("write", "a/cgroup.procs", "$child"),
        ("write", "a/cgroup.procs", "0"),
        ("write", "cgroup.procs", "0"),
        ("write", "cgroup.procs", "$child"),
        ("lseek", "p", 0),
        ("sendfile", "p", 100),
    )
    yield _case(
        "a file that is gone",
        ("sendfile", "g", 2),
        ("rmdir", "b"),
        ("sendfile", "g", 100),
        ("lseek", "f", 0),
        ("sendfile_to", "g", "5"),
    )


def _case(name: str, *ops: tuple[Any, ...]) -> Case:
    return Case(name, "v2", (*_OPEN, *ops))
