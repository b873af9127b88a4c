"""The v1 device controller: rules, lists, what parents allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case, bytes_data
from fakecgroup.conformance.cases.place import child
from fakecgroup.conformance.cases.values import padded


def _rule(group: str, verb: str, rule: Any, *look: str) -> list[tuple[Any, ...]]:
    return [
        ("write", f"devices/{group}/devices.{verb}", rule),
        *(("read", f"devices/{g}/devices.list") for g in look or (group,)),
    ]


def cases() -> Iterator[Case]:
    setup = child("v1", "devices")
    rules: list[Any] = [
        "c 1:3 rwm", "c 1:3 r", "c 1:3 w", "c 1:3 m", "c 1:3 mwr", "c 1:3 rr", "c 1:3 rwmr", "c 1:3 rwm x", "c 1:3 x",
        "c 1:3 rx", "c 1:3", "c 1:3 ", "c 1:3 \n", "c 1:3 rwm\n",
        "c 1:3 rwm\nc 1:4 r", "c 1:3\trwm", "c\t1:3 rwm", "c  1:3 rwm", "c 1:3  rwm", " c 1:3 rwm", "\nc 1:3 rwm",
        "c1:3 rwm", "C 1:3 rwm", "b 8:0 rwm", "p 1:3 rwm", "u 1:3 rwm",
        "c *:3 rwm", "c 1:* rwm", "c *:* rwm", "c ** rwm", "c *3:1 r", "c 1*:1 r", "c 1:*3 r", "c :3 r", "c 1: r",
        "c 1 r", "c 1:3:4 r", "c -1:3 r", "c 1:-3 r", "c +1:3 r", "c 0x1:3 r",
        "c 01:3 r", "c 1:03 r", "c 1.0:3 r", "c 4095:1048575 r", "c 4096:0 r", "c 4294967295:0 r", "c 0:4294967295 r",
        "c 4294967296:0 r", "c 0:4294967296 r",
        "c 99999999999:0 r", "c 999999999999999:0 r", "c 0:999999999999999 r", "c 0:0 rwm", "b *:* m", "c *:* m", "",
        "\n", " ", "x", "c", "c ", "b", "1:3 rwm", "rwm", "max", "c 1:3 rwm\0x",
        padded("c 7:7 rwm", " ", 4096), padded("c 7:8 rwm", " ", 4097),
    ]  # fmt: skip
    for verb in ("allow", "deny"):
        start = (
            _rule("a", "deny", "a")
            if verb == "allow"
            else [
                *_rule("a", "deny", "a"),
                *(("write", "devices/a/devices.allow", r) for r in ("c *:* rwm", "b *:* rwm", "c 1:3 rwm", "b 8:0 r")),
            ]
        )
        yield Case(
            f"devices.{verb} parses rules",
            "v1",
            (
                *setup,
                ("read", "devices/a/devices.list"),
                *start,
                *(op for rule in rules for op in _rule("a", verb, rule)),
            ),
        )
        whole = ["a", "a\n", " a", "a *:* rwm", "a 1:3 r", "a x", "all", "ab", "A", "a\0"]
        yield Case(f"devices.{verb} of everything", "v1", (
            *setup, *(op for rule in whole for op in (*_rule("a", "deny", "a"), *_rule("a", "allow", "c 5:5 r"),
            *_rule("a", verb, rule)))))  # fmt: skip
    yield Case(
        "devices.list cannot be written",
        "v1",
        (
            *setup,
            ("write", "devices/a/devices.list", "a"),
            ("read", "devices/a/devices.allow"),
            ("read", "devices/a/devices.deny"),
        ),
    )
    yield Case("rules are merged and taken apart", "v1", (
        *setup, *_rule("a", "deny", "a"), *_rule("a", "allow", "c 1:3 r"), *_rule("a", "allow", "c 1:3 w"),
        *_rule("a", "allow", "c 1:* r"), *_rule("a", "allow", "b 8:0 rwm"),
        *_rule("a", "allow", "c 1:3 m"), *_rule("a", "deny", "c 1:3 r"), *_rule("a", "deny", "c 1:3 rwm"),
        *_rule("a", "deny", "c 1:5 r"), *_rule("a", "deny", "c *:* rwm"),
        *_rule("a", "deny", "b *:* rwm"), *_rule("a", "deny", "b 8:0 rw"), *_rule("a", "deny", "a"),
        *_rule("a", "allow", "c 1:5 r"), *_rule("a", "allow", "a")))  # fmt: skip
    yield Case("exceptions of an open group are not shown", "v1", (
        *setup, *_rule("a", "deny", "c 1:3 w"), *_rule("a", "deny", "c 1:5 rwm"), *_rule("a", "allow", "c 1:3 w"),
        ("mkdir", "devices/a/b"), ("read", "devices/a/b/devices.list"),
        *_rule("a/b", "allow", "c 1:5 r"), *_rule("a/b", "deny", "a"), *_rule("a/b", "allow", "c 1:5 r"),
        *_rule("a/b", "allow", "c 1:3 r"), *_rule("a/b", "allow", "c 1:* r"),
        *_rule("a/b", "allow", "c *:* w"), *_rule("a/b", "allow", "c *:5 w"), *_rule("a/b", "allow", "b *:* rwm"),
        *_rule("a/b", "allow", "a")))  # fmt: skip
    tree = child("v1", "devices", "a", "a/b", "a/b/c")
    yield Case("all or nothing needs a group without children", "v1", (
        *tree, *_rule("a", "deny", "a"), *_rule("a", "allow", "a"), *_rule("a/b/c", "deny", "a"),
        *_rule("a/b", "deny", "a"), ("rmdir", "devices/a/b/c"), ("settle", 600),
        *_rule("a/b", "deny", "a"), ("write", "devices/devices.deny", "a")))  # fmt: skip
    yield Case("a child may have what its parent has", "v1", (
        *setup, *_rule("a", "deny", "a"), *_rule("a", "allow", "c 1:* rw"), *_rule("a", "allow", "b 8:0 rwm"),
        ("mkdir", "devices/a/b"), ("read", "devices/a/b/devices.list"),
        *_rule("a/b", "allow", "c 1:7 rw"), *_rule("a/b", "allow", "c 1:7 m"), *_rule("a/b", "allow", "c 2:7 r"),
        *_rule("a/b", "allow", "c *:7 r"), *_rule("a/b", "allow", "c 1:* r"),
        *_rule("a/b", "allow", "b 8:0 m"), *_rule("a/b", "allow", "b 8:1 m"), *_rule("a/b", "allow", "a"),
        *_rule("a/b", "deny", "a"), *_rule("a/b", "allow", "a"),
        *_rule("a/b", "allow", "c 1:3 r"), *_rule("a", "deny", "c 1:* r", "a", "a/b"),
        *_rule("a", "deny", "c 1:* w", "a", "a/b"), *_rule("a", "allow", "c 1:3 rwm", "a", "a/b")))  # fmt: skip
    yield Case("a denial goes down the tree", "v1", (
        *tree, *_rule("a", "deny", "c 1:3 rwm", "a", "a/b", "a/b/c"), *_rule("a/b/c", "allow", "c 1:3 r"),
        *_rule("a", "allow", "c 1:3 rwm", "a", "a/b"), *_rule("a/b/c", "allow", "c 1:3 r"),
        *_rule("a/b", "deny", "b 8:0 w", "a/b", "a/b/c")))  # fmt: skip
    yield Case("the devices root", "v1", (
        ("read", "devices/devices.list"), ("write", "devices/devices.deny", "c 250:7 rwm"),
        ("read", "devices/devices.list"), ("mkdir", "devices/a"), ("read", "devices/a/devices.list"),
        *_rule("a", "allow", "c 250:7 r"), ("write", "devices/devices.allow", "c 250:7 rwm"),
        *_rule("a", "allow", "c 250:7 r")))  # fmt: skip
    yield Case("opening a device that is denied", "v1", (
        *setup, ("fork", "w"), ("write", "devices/a/tasks", "$w"), ("in", "w", "open", "h", "/dev/null", "O_RDWR"),
        *_rule("a", "deny", "c 1:3 w"),
        ("in", "w", "open", "h", "/dev/null", "O_RDWR"), ("in", "w", "open", "h", "/dev/null",
        "O_RDONLY")))  # fmt: skip
    odd = [
        "c 1:3 \nr", "c 1:3 r\nx", "c 1:3\nr", "c 1:3\n\n", "c 000000000001:3 r", "c 00000000001:4 r",
        "c 1:00000000005 r", "c 4294967295:* r", "c *:4294967295 w", bytes_data(b"c\xa01:6 r"), "c\v1:7\fr",
        "c 1:8 rrr", "c 1:9 rrrx",
    ]  # fmt: skip
    yield Case("devices rules at their edges", "v1", (
        *setup, *_rule("a", "deny", "a"), *(op for rule in odd for op in _rule("a", "allow", rule)),
        ("mkdir", "devices/a/b"), ("read", "devices/a/b/devices.list"), *_rule("a/b", "allow", "c 1:77 \nr"),
        *_rule("a", "deny", "c 1:3 \n", "a", "a/b"), *_rule("a", "deny", "c *:* r", "a", "a/b")))  # fmt: skip
    yield Case("devices rules and rename, who may write", "v1", (
        *setup, *_rule("a", "deny", "c 1:3 w"), ("rename", "devices/a", "devices/z"), *_rule("z", "deny", "a"),
        ("mkdir", "devices/z/y"), *_rule("z", "allow", "c 1:3 r"), *_rule("z/y", "allow", "c 1:3 r"),
        ("chmod", "devices/z/devices.deny", "0222"), ("as", 1000, 1000), ("write", "devices/z/devices.deny", "x"),
        ("write", "devices/z/devices.deny", "c 1:3 r")))  # fmt: skip
