"""Prints what became of recorded cases, in one of four forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakecgroup.conformance.report.as_json import json_text
from fakecgroup.conformance.report.as_junit import junit_text
from fakecgroup.conformance.report.as_table import table_text
from fakecgroup.conformance.report.as_tap import tap_text
from fakecgroup.conformance.report.subject import Subject
from fakecgroup.conformance.tally import Tally
from fakecgroup.machine.learnt import LearntKernel

#: For people, for programs, for CI servers that read JUnit's XML, for readers of the Test Anything Protocol.
OUTPUTS = ("table", "json", "junit", "tap")


def print_tallies(
    tallies: Sequence[Tally],
    layout: str,
    kernel: str,
    target: str,
    output: str,
    show: int,
    more: Mapping[str, object] | None = None,
    learnt: LearntKernel | None = None,
) -> None:
    """One of ``OUTPUTS``: a table after the first ``show`` differences; the others have all.

    ``more`` are further keys of the JSON. ``learnt``: the kernel, if it is a learnt one.
    """
    subject = Subject(layout, kernel, target, learnt)
    if output == "json":
        print(json_text(tallies, subject, more or {}))
    elif output == "junit":
        print(junit_text(tallies, subject))
    elif output == "tap":
        print(tap_text(tallies, subject))
    else:
        print(table_text(tallies, subject, show))
