"""What cases are called in reports."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from fakecgroup.conformance import titles
from fakecgroup.conformance.case import LAYOUTS
from fakecgroup.conformance.cases import all_cases
from fakecgroup.conformance.recording import MACHINES
from fakecgroup.conformance.titles import title

#: The verbs of all titles. A name without one of them is no sentence.
VERBS = set(
    """
    allows answers are ask asks be become becomes belong can cannot change changes come comes copies count
    counts decide decides do does empties ends enters excludes find finds follow follows forks frees freeze
    get gets lose loses
    gives go goes had hand hands has have hear hears hinder hold holds inherit inherits is keep keeps kills
    lead leads leave leaves lets list lists looks make makes may meets merge move moves names need needs owns
    parses picks raise reaches read registers run runs see sees set sets share show shows shrinks signals
    starts stay stays take takes tell tells told turn use uses wait waits wake wakes writes
    """.split()
)


@cache
def names(layout: str, machine: str) -> list[str]:
    return [case.name for cases in all_cases(layout, machine).values() for case in cases]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_title_has_a_verb(layout: str, machine: str) -> None:
    without = {title(name) for name in names(layout, machine) if not VERBS & set(re.findall(r"[a-z]+", title(name)))}
    assert without == set()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_two_cases_of_a_layout_have_one_title(layout: str, machine: str) -> None:
    counted = Counter(map(title, names(layout, machine)))
    assert [one for one, number in counted.items() if number > 1] == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("files of cpu in the root", "the root shows its files of cpu"),
        ("rmdir with a process inside (cpu,cpuacct)", "rmdir is tried with a process inside (cpu,cpuacct)"),
        ("hugetlb.2MB of parent and child on v1", "hugetlb.2MB is set in parent and child on v1"),
        ("cpuset.cpus of the v1 root", "the v1 root is asked for cpuset.cpus"),
        ("moving in is never refused", "moving in is never refused"),
        ("a case of somebody else", "a case of somebody else"),
    ],
)
def test_a_name_becomes_a_sentence(name: str, sentence: str) -> None:
    assert title(name) == sentence


def test_each_row_is_for_a_case_that_there_is() -> None:
    every = {name for layout in LAYOUTS for machine in MACHINES for name in names(layout, machine)}
    bare = {re.sub(r"( on v1)?( \([\w,]+\))?$", "", name) for name in every}
    unused = [row for row, _ in titles._ROWS if not any(re.fullmatch(row, name) for name in bare)]
    assert unused == []
