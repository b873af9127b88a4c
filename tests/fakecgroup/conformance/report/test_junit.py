"""JUnit's XML: it loads, has the elements of the common schema, and counts as it says."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from fakecgroup.conformance.report.as_junit import junit_text

from .tallies import SUBJECT, result, tallies

#: The attributes and children of each element in Jenkins' schema (xunit-plugin, junit-10.xsd).
SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": (
        {"name", "time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}


@pytest.fixture
def root() -> ElementTree.Element:
    return ElementTree.fromstring(junit_text(tallies(), SUBJECT))


def case_of(root: ElementTree.Element, name: str) -> ElementTree.Element:
    found = root.find(f".//testcase[@name='{name}']")
    assert found is not None
    return found


def test_each_element_is_in_the_schema(root: ElementTree.Element) -> None:
    for element in root.iter():
        attributes, children = SCHEMA[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children


def test_the_suite_counts_its_cases(root: ElementTree.Element) -> None:
    suite = root[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "2",
        "time": "1.000",
    }


def test_a_suite_names_layout_kernel_and_family(root: ElementTree.Element) -> None:
    assert root[0].get("name") == "v2 6.12: rdma misc"
    assert case_of(root, "a gap").get("classname") == "fakecgroup.v2.6_12.rdma_misc"


def test_a_failure_has_the_differences(root: ElementTree.Element) -> None:
    failure = case_of(root, "two answers differ").find("failure")
    assert failure is not None
    assert failure.get("message") == "2 of 2 answers differ from the kernel's"
    assert (failure.text or "").count('kernel  [null, "max\\n"]') == 2


def test_a_known_gap_is_skipped_with_its_reason(root: ElementTree.Element) -> None:
    skipped = case_of(root, "a gap").find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "known gap: on purpose # so"


def test_a_case_that_was_not_compared_is_skipped(root: ElementTree.Element) -> None:
    assert case_of(root, "nothing is compared").find("skipped") is not None


def test_the_same_answers_say_nothing_more(root: ElementTree.Element) -> None:
    assert len(case_of(root, "the answers are the same")) == 0


@pytest.mark.hostile("answers and names with bytes that XML cannot hold, in a JUnit report", times=3)
@pytest.mark.parametrize("text", ["\0\x1b[31m", "\udcff\ufffe", "]]><a>&"])
def test_any_text_makes_xml_that_loads(text: str) -> None:
    root = ElementTree.fromstring(junit_text(tallies(result(f"a case {text}", different=1, text=text)), SUBJECT))
    assert root.get("failures") == "1"


def test_a_shard_without_cases_is_an_empty_report() -> None:
    assert ElementTree.fromstring(junit_text([], SUBJECT)).get("tests") == "0"
