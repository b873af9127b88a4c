"""Learnt kernels that are shipped: they can be played, their answers are whole, and they list their gaps."""

from __future__ import annotations

import os
from functools import cache

import pytest

from fakecgroup import Kernel
from fakecgroup.conformance import recording
from fakecgroup.conformance.learning import gaps
from fakecgroup.conformance.learnt_answers import answers_of
from fakecgroup.conformance.recording import Recording
from fakecgroup.machine.learnt import LearntKernel
from fakecgroup.machine.learnt_files import DIRECTORY, read_learnt, shipped

_MOST_LOST = 0.05  # of the cases; they are lost where a case or the recordings have changed: ask the kernel again


@cache
def learnt(name: str) -> LearntKernel:
    return read_learnt(os.path.join(DIRECTORY, name))


@cache
def number_of_cases(layout: str) -> int:
    return len(recording.load(layout, "6.12").cases)


@cache
def answered(name: str, layout: str) -> Recording:
    return answers_of(learnt(name), layout)


EACH = [(name, layout) for name in shipped() for layout in learnt(name).layouts]


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_kernel_is_found_by_its_name_alone(name: str) -> None:
    kernel = Kernel(next(iter(learnt(name).layouts)), name)
    assert kernel.personality.name == learnt(name).release


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_kernel_is_small(name: str) -> None:
    assert os.path.getsize(os.path.join(DIRECTORY, name)) < 64 << 10


@pytest.mark.parametrize(("name", "layout"), EACH)
def test_its_answers_are_to_the_cases_as_they_are_now(name: str, layout: str) -> None:
    assert len(answered(name, layout).cases) >= (1 - _MOST_LOST) * number_of_cases(layout)


@pytest.mark.parametrize(("name", "layout"), EACH)
def test_the_model_answers_otherwise_only_where_it_says_so(name: str, layout: str) -> None:
    whole = answered(name, layout)
    some = [one for one in whole.cases if one.family in ("file_sets", "pids", "hybrid")]
    listed = learnt(name).layouts[layout].gaps
    found = gaps(learnt(name), Recording(layout, whole.kernel, whole.header, tuple(some)))
    assert [(one.case.name, one.index) for one in found if one.index not in listed.get(one.case.name, ())] == []
