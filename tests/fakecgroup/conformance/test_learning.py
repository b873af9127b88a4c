"""Learning a kernel from its answers, here from recorded ones: what its file says, and what the model makes of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fakecgroup import Kernel
from fakecgroup.conformance import recording
from fakecgroup.conformance.learning import gaps, learn
from fakecgroup.conformance.learnt_answers import answers_of
from fakecgroup.conformance.recording import NOT_ASKED, RecordedCase, Recording
from fakecgroup.machine.learnt import LearntError, LearntKernel, parse
from fakecgroup.machine.learnt_files import read_learnt

FAMILIES = ("file_sets", "pids")


@cache
def recorded(layout: str, kernel: str) -> Recording:
    whole = recording.load(layout, kernel)
    return replace(whole, cases=tuple(one for one in whole.cases if one.family in FAMILIES))


def learnt_bytes(*answered: Recording, observed: frozenset[str] = frozenset()) -> bytes:
    machine = {"cpus": 4, "nodes": 2, "memory": 1 << 30, "block_devices": ["259:0", "259:1"]}
    return learn({"release": "6.6.6-test"}, machine, "2026-11-23", observed, answered)


@cache
def bytes_of(layout: str, kernel: str) -> bytes:
    return learnt_bytes(recorded(layout, kernel))


@cache
def learnt(layout: str, kernel: str) -> LearntKernel:
    return parse(bytes_of(layout, kernel), "test.kernel")


def changed(kernel: str, name: str, number: int, answer: tuple[str | None, Any]) -> Recording:
    """The answers of a kernel on v2 with another one to an operation."""
    whole = recorded("v2", kernel)
    cases = [
        replace(one, answers=(*one.answers[:number], answer, *one.answers[number + 1 :]))
        if one.case.name == name
        else one
        for one in whole.cases
    ]
    return replace(whole, cases=tuple(cases))


@pytest.mark.parametrize(("layout", "kernel"), [("v2", "5.10"), ("v2", "7.2"), ("v1", "6.12"), ("hybrid", "6.1")])
def test_a_kernel_that_answers_like_one_of_ours_has_its_rules_and_no_gaps(layout: str, kernel: str) -> None:
    found = learnt(layout, kernel).layouts[layout]
    assert ("{}.{}".format(*found.rules), dict(found.gaps)) == (kernel, {})


@pytest.mark.parametrize(("layout", "kernel"), [("v2", "6.1"), ("v1", "7.2")])
def test_its_tree_is_that_of_the_kernel(layout: str, kernel: str) -> None:
    played, known = (Kernel(layout, which, hugepages="2Mi=0,1Gi=0") for which in (learnt(layout, kernel), kernel))
    assert [list(one.controllers) for one in played.hierarchies] == [list(one.controllers) for one in known.hierarchies]
    assert [set(one.child_table) for one in played.hierarchies] == [set(one.child_table) for one in known.hierarchies]
    assert [set(one.root_table) for one in played.hierarchies] == [set(one.root_table) for one in known.hierarchies]


@pytest.mark.parametrize(("layout", "kernel"), [("v2", "6.1"), ("v1", "6.18")])
def test_its_answers_come_back(layout: str, kernel: str) -> None:
    asked = [one for one in recorded(layout, kernel).cases if any(answer != NOT_ASKED for answer in one.answers)]
    back = answers_of(learnt(layout, kernel), layout)
    assert [(one.case, one.answers) for one in back.cases] == [(one.case, one.answers) for one in asked]


def test_a_kernel_between_two_of_ours_has_the_rules_that_are_known_of_its_version() -> None:
    between = answers_of(read_learnt("debian-6.16-cloud-amd64.kernel"), "v2")
    some = tuple(one for one in between.cases if one.family == "file_sets" or one.case.name == "io.max takes rbps")
    found = parse(learnt_bytes(replace(between, cases=some)), "test.kernel").layouts["v2"]
    assert (found.rules, dict(found.gaps)) == ((6, 16), {})


def test_an_operation_that_the_model_answers_otherwise_is_a_gap() -> None:
    answered = changed("6.12", "files of pids in a child with it", 5, (None, "as no kernel says\n"))
    found = parse(learnt_bytes(answered), "test.kernel")
    assert dict(found.layouts["v2"].gaps) == {"files of pids in a child with it": (5,)}
    assert [(one.index, one.expected) for one in gaps(found, answered)] == [(5, (None, "as no kernel says\n"))]


def test_a_case_that_stopped_the_machine_ends_there() -> None:
    whole = recorded("v2", "6.12")
    stopped = replace(whole.cases[0], answers=whole.cases[0].answers[:3], verdict="hang")
    found = parse(learnt_bytes(replace(whole, cases=(stopped, *whole.cases[1:]))), "test.kernel")
    back = answers_of(found, "v2").cases[0]
    assert (back.answers, back.verdict) == (stopped.answers, "hang")


def test_several_layouts_make_one_file() -> None:
    found = parse(learnt_bytes(recorded("v2", "6.1"), recorded("v1", "6.1")), "test.kernel")
    assert list(found.layouts) == ["v2", "v1"]
    assert {"memory", "cpuset"} <= found.legacy.controllers if found.legacy else False


def test_options_that_files_show_are_learnt() -> None:
    shown = {"CGROUP_HUGETLB", "CGROUP_MISC", "CGROUP_RDMA", "UCLAMP_TASK_GROUP", "ZSWAP"}
    assert shown <= learnt("v2", "7.2").config
    assert not shown & {"UCLAMP_TASK_GROUP", "ZSWAP"} & learnt("v2", "6.12").config


def test_options_that_no_file_shows_are_as_observed() -> None:
    found = parse(learnt_bytes(recorded("v2", "6.12"), observed=frozenset({"NR_CPUS_256", "ZSWAP"})), "test.kernel")
    assert {"NR_CPUS_256"} == found.config & {"NR_CPUS_256", "NR_CPUS_8192", "ZSWAP"}


def test_a_case_whose_recording_has_changed_since_counts_as_not_asked() -> None:
    value = json.loads(gzip.decompress(bytes_of("v2", "6.12")))
    answers = value["layouts"]["v2"]["answers"]
    answers["same"] = "00000000" + answers["same"][8:]
    found = parse(gzip.compress(json.dumps(value).encode()), "test.kernel")
    assert len(answers_of(found, "v2").cases) == len(recorded("v2", "6.12").cases) - 1


def check_of(value: dict[str, Any]) -> str:
    return str(value["same"][:8])


DAMAGE: list[Callable[[dict[str, Any]], object]] = [
    lambda answers: answers.pop("same"),
    lambda answers: answers.pop("different"),
    lambda answers: answers.update(same=7),
    lambda answers: answers.update(same="", different=[1]),
    lambda answers: answers.update(same="", different={check_of(answers): [[10**6, None, None]]}),
    lambda answers: answers.update(same="", different={check_of(answers): [[-1, None, None]]}),
    lambda answers: answers.update(same="", different={check_of(answers): [[0, {}, None]]}),
    lambda answers: answers.update(same="", different={check_of(answers): 1}),
    lambda answers: answers.update(same="", different={check_of(answers): {"answers": []}}),
    lambda answers: answers.update(base="../../etc/passwd"),
    lambda answers: answers.update(base=["6.12"]),
]


@pytest.mark.hostile("answers of a learnt kernel that are damaged", times=11)
@pytest.mark.parametrize("damage", DAMAGE, ids=range(len(DAMAGE)))
def test_damaged_answers_are_told_in_one_line(damage: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(gzip.decompress(bytes_of("v2", "6.12")))
    damage(value["layouts"]["v2"]["answers"])
    found = parse(gzip.compress(json.dumps(value).encode()), "test.kernel")
    with pytest.raises(LearntError, match=r"^test.kernel: its answers on v2 [^\n]*$"):
        answers_of(found, "v2")


def unknown(one: RecordedCase) -> RecordedCase:
    return replace(one, case=replace(one.case, name=one.case.name + " of another version"))


def test_cases_that_no_recording_has_are_left_out() -> None:
    whole = recorded("v2", "6.12")
    found = parse(learnt_bytes(replace(whole, cases=(unknown(whole.cases[0]), *whole.cases[1:]))), "test.kernel")
    assert len(answers_of(found, "v2").cases) == len(whole.cases) - 1
