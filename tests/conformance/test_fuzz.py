"""Random cases."""

from __future__ import annotations

import pytest

from mount.conformance.case import LAYOUTS
from mount.conformance.fuzz import random_case
from mount.conformance.recording import RecordedCase
from mount.conformance.replay import replay
from mount.conformance.target_model import ModelTarget


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_seed_stands_for_one_case(layout: str) -> None:
    assert random_case(7, layout) == random_case(7, layout)
    assert random_case(7, layout).ops != random_case(8, layout).ops


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_cases_have_the_length_asked_for(layout: str) -> None:
    assert all(80 <= len(random_case(seed, layout, 80).ops) <= 100 for seed in range(50))


@pytest.mark.parametrize(("layout", "kernel"), [("v2", "6.12"), ("v2", "5.10"), ("v1", "6.1"), ("v1", "7.2")])
def test_the_model_survives_random_cases(layout: str, kernel: str) -> None:
    target = ModelTarget(layout, kernel)
    for seed in range(100):
        case = random_case(seed, layout)
        unknown = RecordedCase("random", case, tuple(("?", None) for _ in case.ops))
        replay(unknown, target)  # an exception that is no errno comes through
