"""What became of recorded cases in the Test Anything Protocol, version 13."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from fakecgroup.conformance.replay import Result
from fakecgroup.conformance.report.outcome import Verdict, outcome_of
from fakecgroup.conformance.report.subject import Subject
from fakecgroup.conformance.tally import Tally
from fakecgroup.conformance.titles import title


def tap_text(tallies: Sequence[Tally], subject: Subject) -> str:
    """A test point for each case, with what differs as YAML below it.

    A known gap is TODO: it fails, and is no failure of the whole. A case of which nothing was compared is skipped.
    """
    results = [(tally, result) for tally in tallies for result in tally.results]
    lines = ["TAP version 13", f"1..{len(results)}" + ("" if results else " # SKIP no case was chosen")]
    for number, (tally, result) in enumerate(results, start=1):
        lines += _point(number, tally, result, subject)
    return "\n".join(lines)


def _point(number: int, tally: Tally, result: Result, subject: Subject) -> Iterator[str]:
    outcome = outcome_of(result, subject)
    ok = "not ok" if result.differences else "ok"
    directive = {Verdict.KNOWN_GAP: f" # TODO {outcome.why}", Verdict.NOT_COMPARED: f" # SKIP {outcome.why}"}
    said = _plain(f"{tally.title.replace('_', ' ')}: {title(result.case.name)}")
    yield f"{ok} {number} - {said}{_line(directive.get(outcome.verdict, ''))}"
    if result.differences:
        yield "  ---"
        yield f"  message: {json.dumps(outcome.why)}"
        yield "  differences:"
        for difference in result.differences:
            yield f"    - operation: {json.dumps(list(difference.op))}"
            yield f"      index: {difference.index}"
            yield f"      kernel: {json.dumps(list(difference.expected))}"
            yield f"      target: {json.dumps(list(difference.got))}"
        yield "  ..."


def _plain(text: str) -> str:
    """A description: a # in it would begin a directive."""
    return _line(text).replace("\\", "\\\\").replace("#", "\\#")


def _line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
