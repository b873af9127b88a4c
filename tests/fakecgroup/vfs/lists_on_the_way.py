"""Cases: lists of tasks that change between two reads of an open file."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case

LISTS = {"v2": ("", "cgroup.procs", "cgroup.threads"), "v1": ("pids/", "cgroup.procs", "tasks")}
"""By layout: the hierarchy, and its lists."""


def cases(layout: str) -> Iterator[Case]:
    p, *files = LISTS[layout]
    procs = files[0]

    def to(place: str, *names: str) -> list[tuple[str, ...]]:
        return [("write", f"{p}{place}/{procs}", f"${name}") for name in names]

    made = [("mkdir", f"{p}a"), ("mkdir", f"{p}b"), *(("fork", name) for name in "uvwxyz"), *to("a", *"wxyz")]
    rest = [("fread", "h", 4096), ("fread", "h", 4096)]
    for file in files:
        begun = [*made, ("open", "h", f"{p}a/{file}"), ("fread", "h", 1)]
        for what, between in (
            ("who was shown leaves", to("b", "w")),
            ("the next leaves", to("b", "x")),
            ("the next leaves and comes back", [*to("b", "x"), *to("a", "x")]),
            ("the one after leaves", to("b", "y")),
            ("the one after leaves and comes back", [*to("b", "y"), *to("a", "y")]),
            ("somebody comes", to("a", "u")),
            ("one leaves and two come", [*to("b", "w"), *to("a", "v", "u")]),
            ("the rest leaves and somebody comes", [*to("b", *"xyz"), *to("a", "u")]),
            ("all leave", to("b", *"wxyz")),
            ("the next is killed", [("kill", "x"), ("settle", 50)]),
            ("the one after is killed and waited for", [("kill", "y"), ("wait", "y")]),
            ("a thread starts", [("in", "x", "thread", "t")]),
            ("the list is forgotten", [*to("b", "w"), ("settle", 1500)]),
        ):
            yield Case(f"{file}: {what}", layout, (*begun, *between, *rest))
        yield Case(
            f"{file}: somebody comes at the end",
            layout,
            (*begun, *rest, *to("a", "u"), *rest, ("settle", 1500), *rest, ("lseek", "h", 0), *rest),
        )
        yield Case(
            f"{file}: a read somewhere else",
            layout,
            (*begun, *to("b", "w"), ("lseek", "h", 1), *rest, *to("a", "u"), ("fpread", "h", 4096, 0), *rest),
        )
