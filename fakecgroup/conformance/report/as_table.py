"""What became of recorded cases, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fakecgroup.conformance.report.subject import Subject
from fakecgroup.conformance.tally import Tally


def table_text(tallies: Sequence[Tally], subject: Subject, show: int) -> str:
    """A row for each family after the first ``show`` differences; those that are no known gaps come first."""
    known = subject.gaps
    differences = [difference for tally in tallies for difference in tally.differences]
    differences.sort(key=lambda difference: difference.case.name in known)
    lines = [str(difference) for difference in differences[:show]]
    rows = [("family", "cases", "operations", "not compared", "differences")]
    rows += [(t.title, str(t.cases), str(t.compared), str(t.skipped), str(len(t.differences))) for t in tallies]
    rows.append(
        (
            f"{subject.layout} {subject.kernel}",
            str(sum(t.cases for t in tallies)),
            str(sum(t.compared for t in tallies)),
            str(sum(t.skipped for t in tallies)),
            str(len(differences)),
        )
    )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join((name.ljust(widths[0]), *aligned)))
    if differences:
        gaps = sum(difference.case.name in known for difference in differences)
        lines.append(f"{len(differences)} differ, of them {gaps} known gaps")
    if subject.target == "host":
        lines += _left_out(tallies)
    return "\n".join(lines)


def _left_out(tallies: Sequence[Tally]) -> list[str]:
    """How many operations were not compared, for each reason."""
    reasons: Counter[str] = sum((tally.left_out for tally in tallies), Counter())
    width = len(f"{max(reasons.values(), default=0):,}")
    lines = [f"  {number:{width},}  {reason}" for reason, number in reasons.most_common()]
    return ["not compared:", *lines] if lines else []
