"""net_cls and net_prio on v1 (the machine's only interface is lo)."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import each_read_back, parser_cases, short_parser_cases


def cases() -> Iterator[Case]:
    here = "net_cls,net_prio"
    setup = child("v1", "net_cls")
    classid, priomap = f"{here}/a/net_cls.classid", f"{here}/a/net_prio.ifpriomap"
    yield from parser_cases("v1", classid, setup, "65537", ["0", "1", "4294967295", "4294967296", "0x10001"])
    yield from short_parser_cases("v1", f"{here}/a/net_prio.prioidx", setup)
    lines = ["lo 5", "lo 6\n", " lo 7", "lo  8", "lo\t9", "lo 10 11", "lo 12x", "lo 0x10", "lo 010", "lo -1", "lo +3",
        "lo", "lo ", "eth0 5", "nosuch 5", "LO 5", "", "\n", " ", "5", "lo:5",
             "lo 4294967295", "lo 4294967296", "lo 18446744073709551616", "lo 5\nlo 6", "lo abc",
             "a_very_long_interface_name 5", "lo 2147483648", "lo 0"]  # fmt: skip
    yield Case("net_prio.ifpriomap parses a line", "v1", (*setup, ("read", priomap), *each_read_back(priomap, lines)))
    yield Case(
        "net_prio.ifpriomap of the root",
        "v1",
        (
            ("read", f"{here}/net_prio.ifpriomap"),
            *each_read_back(f"{here}/net_prio.ifpriomap", ["lo 3", "eth0 1", "lo 0"]),
        ),
    )
    yield Case(
        "net_cls.classid of the root",
        "v1",
        (("read", f"{here}/net_cls.classid"), *each_read_back(f"{here}/net_cls.classid", ["5", "abc", "0"])),
    )
    yield Case("what children inherit of net_cls and net_prio", "v1", (
        *setup, ("write", classid, "65537"), ("write", priomap, "lo 4"), ("mkdir", f"{here}/a/b"),
        ("read", f"{here}/a/b/net_cls.classid"), ("read", f"{here}/a/b/net_prio.ifpriomap"),
        ("write", classid, "7"), ("write", priomap, "lo 2"), ("read", f"{here}/a/b/net_cls.classid"),
        ("read", f"{here}/a/b/net_prio.ifpriomap")))  # fmt: skip
    yield Case("net_prio.ifpriomap and numbers that are too big", "v1", (
        *setup, *each_read_back(priomap, ["lo 18446744073709551617", "lo 99999999999999999999", "lo 4294967297",
        "lo 0", "lo", "aaaaaaaaaaaaaaaa 1", "aaaaaaaaaaaaaaaaa 1", "lo\n5", "lo \n\t6", "\nlo 7",
        "lo\v8"])))  # fmt: skip
