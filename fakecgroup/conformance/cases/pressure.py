"""PSI files on v2: what they show, triggers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case


def cases() -> Iterator[Case]:
    lines: list[Any] = [
        "some 100000 1000000", "full 100000 1000000", "some 100000 1000000\n", "some 150000 2000000", "some 1 500000",
        "some 500000 500000", "some 500001 500000", "some 0 1000000",
        "some 100000 499999", "some 100000 10000000", "some 100000 10000001", "some 10000000 10000000", "some 1 1",
        "some 1 0", "some -1 1000000", "some 100000", "some", "full",
        "SOME 100000 1000000", "all 100000 1000000", " some 100000 1000000", "some  100000  1000000",
        "some\t100000\t1000000", "some 100000 1000000 7", "some 100000 1000000x",
        "some 100000x 1000000", "some 0x186a0 1000000", "some 1e5 1000000", "some 4294967296 4294967297",
        "some 4294967297 1000000", "some 100000,1000000", "some100000 1000000",
        "some 100000 1000000\0x", "", "\n", " ", "0", "1", "abc", {"join": ["some 100000 1000000",
        {"repeat": [" ", 10]}]}, {"join": ["some 100000 1000000", {"repeat": [" ", 13]}]},
        {"join": ["some 100000 1000000", {"repeat": [" ", 200]}]}, {"repeat": ["x", 4096]}, {"repeat": ["x", 4097]},
    ]  # fmt: skip
    for resource in ("cpu", "memory", "io", "irq"):
        path = f"a/{resource}.pressure"
        yield Case(f"{resource}.pressure takes triggers", "v2", (
            ("mkdir", "a"), ("read", path), *(op for line in lines for op in (("open", "h", path, "O_RDWR"),
            ("fwrite", "h", line), ("fpread", "h", 200, 0), ("close", "h")))))  # fmt: skip
        yield Case(f"{resource}.pressure of the root takes triggers", "v2", (
            ("read", f"{resource}.pressure"), *(op for line in lines[:6] for op in (("open", "h",
            f"{resource}.pressure", "O_RDWR"), ("fwrite", "h", line), ("close", "h")))))  # fmt: skip
        yield Case(f"one trigger for each open {resource}.pressure", "v2", (
            ("mkdir", "a"), ("open", "h", path, "O_RDWR"), ("poll", "h", "IN|PRI"), ("fread", "h", 4),
            ("poll", "h", "IN|PRI"), ("fwrite", "h", "junk"),
            ("fwrite", "h", "some 100000 1000000"), ("poll", "h", "IN|PRI"), ("poll", "h", "PRI"),
            ("fwrite", "h", "some 100000 1000000"), ("fwrite", "h", "junk"),
            ("fwrite", "h", ""), ("open", "g", path, "O_RDWR"), ("fwrite", "g", "some 100000 1000000"),
            ("rmdir", "a"), ("poll", "h", "IN|PRI"), ("fwrite", "h", "x"),
            ("fpread", "h", 10, 0), ("close", "h")))  # fmt: skip
        yield Case(f"triggers of a user on {resource}.pressure", "v2", (
            ("mkdir", "a"), ("chmod", path, "0666"), ("as", 1000, 1000), *(op for line in ("some 100000 1000000",
            "some 100000 2000000", "some 100000 3000000",
            "some 100000 4000000", "full 100000 2000000") for op in (("open", "h", path, "O_RDWR"),
            ("fwrite", "h", line), ("close", "h")))))  # fmt: skip
        yield Case(f"a trigger while {resource}.pressure goes away", "v2", (
            ("mkdir", "a"), ("open", "h", path, "O_RDWR"), ("fwrite", "h", "some 100000 1000000"),
            ("write", "a/cgroup.pressure", "0"), ("poll", "h", "IN|PRI"),
            ("fwrite", "h", "some 100000 1000000"), ("write", "a/cgroup.pressure", "1"), ("poll", "h", "IN|PRI"),
            ("fpread", "h", 10, 0)))  # fmt: skip
