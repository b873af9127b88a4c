"""What became of recorded cases, for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fakecgroup.conformance.report.subject import Subject
from fakecgroup.conformance.tally import Tally


def json_text(tallies: Sequence[Tally], subject: Subject, more: Mapping[str, object]) -> str:
    """Each family with its counts and all differences, on one line; ``more`` are further keys."""
    families = [
        {
            "family": tally.family,
            "machine": tally.machine,
            "cases": tally.cases,
            "operations": tally.compared,
            "not_compared": tally.skipped,
            "left_out": dict(tally.left_out.most_common()),
            "differences": [
                {
                    "case": d.case.name,
                    "index": d.index,
                    "operation": list(d.op),
                    "kernel": list(d.expected),
                    "target": list(d.got),
                    "known_gap": subject.gaps.get(d.case.name),
                }
                for d in tally.differences
            ],
        }
        for tally in tallies
    ]
    head = {"layout": subject.layout, "kernel": subject.kernel, "target": subject.target, "families": families}
    return json.dumps({**head, **more})
