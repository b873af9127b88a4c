"""Prints which recorded kernel another one is most like: for people as a table, for programs as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from fakecgroup.conformance.nearest import Cause, Likeness


def print_nearest(
    name: str,
    layout: str,
    found: Sequence[Likeness],
    output: str,
    show: int,
    observed: frozenset[str] = frozenset(),
) -> None:
    """The kernels in the order of `ranked`, and how the first differs: the first ``show`` differences, then all by
    cause.  ``output`` "json" has all of them.  ``observed``: the kernel's build options, if they could be read.
    """
    if output == "json":
        print(json.dumps({"layout": layout, "kernel": name, "nearest": [_as_json(one) for one in found]}))
        return
    nearest = found[0]
    differences = [each for of in nearest.causes.values() for each in of]
    for difference in differences[:show]:
        print(difference)
    print(f"{name} on {layout} is most like {nearest.kernel}\n")
    rows = [
        ("kernel", "operations", "different"),
        *((one.kernel, str(one.compared), str(one.different)) for one in found),
    ]
    _print_table(rows)
    if differences:
        print(f"\nwhere it differs from {nearest.kernel}:\n")
        causes = [(cause.kind, str(len(of)), _about(cause, observed)) for cause, of in nearest.in_order()]
        _print_table([("cause", "operations", ""), *causes])


def _about(cause: Cause, observed: frozenset[str]) -> str:
    if not cause.option:
        return cause.what
    here = "" if not observed else ", y here" if cause.option in observed else ", not set here"
    return f"{cause.what} (CONFIG_{cause.option}{here})"


def _print_table(rows: Sequence[tuple[str, str, str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, second, third in rows:
        last = third.rjust(widths[2]) if third[:1].isdigit() or third == "different" else third
        print(f"{first.ljust(widths[0])}  {second.rjust(widths[1])}  {last}".rstrip())


def _as_json(one: Likeness) -> dict[str, object]:
    return {
        "kernel": one.kernel,
        "operations": one.compared,
        "different": one.different,
        "causes": [
            {"cause": cause.kind, "file": cause.what or None, "option": cause.option or None, "operations": len(of)}
            for cause, of in one.in_order()
        ],
    }
