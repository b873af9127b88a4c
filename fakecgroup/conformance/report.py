"""Prints tallies: for people as a table, for programs as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from . import known_gaps
from .tally import Tally


def print_tallies(
    tallies: Sequence[Tally],
    layout: str,
    kernel: str,
    target: str,
    output: str,
    show: int,
    more: Mapping[str, object] | None = None,
) -> None:
    """A table after the first ``show`` differences, or as ``output`` "json" all of them, with ``more`` keys.

    Differences that are no known gaps come first.
    """
    known = known_gaps.of(target, layout)
    if output == "json":
        families = [
            {
                "family": tally.family,
                "machine": tally.machine,
                "cases": tally.cases,
                "operations": tally.compared,
                "not_compared": tally.skipped,
                "differences": [
                    {
                        "case": d.case.name,
                        "index": d.index,
                        "operation": list(d.op),
                        "kernel": list(d.expected),
                        "target": list(d.got),
                        "known_gap": known.get(d.case.name),
                    }
                    for d in tally.differences
                ],
            }
            for tally in tallies
        ]
        head = {"layout": layout, "kernel": kernel, "target": target, "families": families}
        print(json.dumps({**head, **(more or {})}))
        return
    differences = [difference for tally in tallies for difference in tally.differences]
    differences.sort(key=lambda difference: difference.case.name in known)
    for difference in differences[:show]:
        print(difference)
    rows = [("family", "cases", "operations", "not compared", "differences")]
    rows += [(t.title, str(t.cases), str(t.compared), str(t.skipped), str(len(t.differences))) for t in tallies]
    rows.append(
        (
            f"{layout} {kernel}",
            str(sum(t.cases for t in tallies)),
            str(sum(t.compared for t in tallies)),
            str(sum(t.skipped for t in tallies)),
            str(sum(len(t.differences) for t in tallies)),
        )
    )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            sep="  ",
        )
    if differences:
        gaps = sum(difference.case.name in known for difference in differences)
        print(f"{len(differences)} differ, of them {gaps} known gaps")
