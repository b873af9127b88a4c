"""What became of recorded cases as JUnit's XML, which CI servers read.

The elements and attributes are those of the schema that Jenkins publishes for JUnit reports, in its order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from fakecgroup.conformance.report.outcome import Verdict, outcome_of
from fakecgroup.conformance.report.subject import Subject
from fakecgroup.conformance.tally import Tally
from fakecgroup.conformance.titles import title

#: What XML 1.0 cannot hold, even escaped.
_NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED = ("tests", "failures", "errors", "skipped")


def junit_text(tallies: Sequence[Tally], subject: Subject) -> str:
    """A test suite for each family, a test case for each case. Times are in seconds.

    A case that differs has failed. A known gap is skipped, and so is a case of which nothing was compared.
    """
    suites = [_suite(tally, subject) for tally in tallies]
    root = ElementTree.Element("testsuites", {"name": "fakecgroup conformance"})
    for name in _COUNTED[:3]:
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.set("time", _seconds(result.seconds for tally in tallies for result in tally.results))
    root.extend(suites)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _suite(tally: Tally, subject: Subject) -> ElementTree.Element:
    name = f"{subject.layout} {subject.kernel}: {tally.title.replace('_', ' ')}"
    suite = ElementTree.Element("testsuite", {"name": _clean(name)})
    properties = ElementTree.SubElement(suite, "properties")
    about = {
        "layout": subject.layout,
        "kernel": subject.kernel,
        "target": subject.target,
        "machine": tally.machine,
        "operations": str(tally.compared),
        "not_compared": str(tally.skipped),
    }
    for key, value in about.items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": _clean(value)})
    counts = Counter({"tests": len(tally.results)})
    group = ".".join(("fakecgroup", subject.layout, subject.kernel.replace(".", "_"), tally.title.replace(" ", "_")))
    for result in tally.results:
        about = {
            "name": _clean(title(result.case.name)),
            "classname": _clean(group),
            "time": _seconds([result.seconds]),
        }
        case = ElementTree.SubElement(suite, "testcase", about)
        outcome = outcome_of(result, subject)
        if outcome.verdict is Verdict.DIFFERENT:
            counts["failures"] += 1
            failure = ElementTree.SubElement(case, "failure", {"message": _clean(outcome.why), "type": "difference"})
            failure.text = _clean(outcome.details)
        elif outcome.verdict is not Verdict.SAME:
            counts["skipped"] += 1
            ElementTree.SubElement(case, "skipped", {"message": _clean(f"{outcome.verdict.value}: {outcome.why}")})
            if outcome.details:
                ElementTree.SubElement(case, "system-out").text = _clean(outcome.details)
    for key in _COUNTED:
        suite.set(key, str(counts[key]))
    suite.set("time", _seconds(result.seconds for result in tally.results))
    return suite


def _seconds(durations: Iterable[float]) -> str:
    return f"{sum(durations):.3f}"


def _clean(text: str) -> str:
    return _NO_CHARACTER.sub("\ufffd", text)
