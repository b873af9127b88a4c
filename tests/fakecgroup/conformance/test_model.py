"""The model answers every recorded operation as the kernel did."""

from __future__ import annotations

from functools import cache

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases import all_cases
from fakecgroup.conformance.known_gaps import MODEL
from fakecgroup.conformance.recording import MACHINES, Recording
from fakecgroup.conformance.replay import replay
from fakecgroup.conformance.target_model import ModelTarget

cases_of = cache(all_cases)  # which makes them anew each time

PARTS = [
    (layout, kernel, machine, family)
    for machine in MACHINES
    for layout, kernel in recording.available(machine)
    for family, cases in cases_of(layout, machine).items()
    if cases
]


@cache
def load(layout: str, kernel: str, machine: str) -> Recording:
    return recording.load(layout, kernel, machine)


@pytest.mark.parametrize(("layout", "kernel", "machine", "family"), PARTS)
def test_the_model_answers_as_the_kernel_did(layout: str, kernel: str, machine: str, family: str) -> None:
    target = ModelTarget(layout, kernel, machine)
    differences = [
        str(difference)
        for one in load(layout, kernel, machine).family(family)
        if (layout, one.case.name) not in MODEL
        for difference in replay(one, target).differences
    ]
    assert differences == [], "\n".join([f"{len(differences)} answers differ", *differences[:20]])


def test_every_known_gap_is_one() -> None:
    open_gaps = {
        (layout, one.case.name)
        for machine in MACHINES
        for layout, kernel in recording.available(machine)
        for one in load(layout, kernel, machine).cases
        if (layout, one.case.name) in MODEL and replay(one, ModelTarget(layout, kernel, machine)).differences
    }
    assert open_gaps == set(MODEL)


def test_an_event_soon_after_another_is_told_when_time_passes() -> None:
    target = ModelTarget("v2", "6.1")
    ops = [
        ("mkdir", "a"),
        ("open", "h", "a/cgroup.events"),
        ("write", "a/cgroup.freeze", "1"),
        ("write", "a/cgroup.freeze", "0"),
        ("fpread", "h", 100, 0),
        ("poll", "h", "PRI"),
        ("settle", 30),
        ("poll", "h", "PRI"),
    ]
    target.start(Case("x", "v2", tuple(ops)))
    answers = [target.do(op) for op in ops]
    assert [value for (_, value), op in zip(answers, ops, strict=True) if op[0] == "poll"] == [[], ["PRI", "ERR"]]


def test_an_open_file_whose_name_is_taken_leaves_its_epoll() -> None:
    target = ModelTarget("v2", "6.1")
    ops = [
        ("mkdir", "a"),
        ("epoll", "e"),
        *(op for _ in range(2) for op in (("open", "h", "a/cgroup.events"), ("epoll_add", "e", "h", "PRI"))),
        ("open", "h", "a/cgroup.events"),
        ("ready", "e"),
    ]
    target.start(Case("x", "v2", tuple(ops)))
    assert [target.do(op) for op in ops] == [(None, None)] * 7 + [(None, [])]
