"""Shares of the CPU by weight, in hierarchies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakecgroup.effects.fair_share import Share, distribute, fill


def test_busy_groups_share_by_weight() -> None:
    assert fill(2.0, [(100, 2.0), (300, 2.0)]) == pytest.approx([0.5, 1.5])


def test_what_one_cannot_use_goes_to_the_others() -> None:
    assert fill(2.0, [(100, 2.0), (300, 0.4)]) == pytest.approx([1.6, 0.4])


def test_all_get_what_they_want_if_there_is_enough() -> None:
    assert fill(4.0, [(1, 1.0), (10_000, 0.5)]) == [1.0, 0.5]


def test_a_group_divides_its_share_among_its_parts() -> None:
    light = [Share(1024, 1.0), Share(1024, 1.0)]
    heavy = Share(1024, 1.0)
    root = Share(parts=[Share(1024, 9.0, light), Share(1024, 9.0, [heavy])], most=9.0)
    distribute(root, 1.0)
    assert [share.rate for share in (*light, heavy)] == pytest.approx([0.25, 0.25, 0.5])


def test_a_quota_leaves_the_rest_to_others() -> None:
    limited = Share(1024, 0.2, [Share(1024, 1.0)])
    other = Share(1024, 9.0, [Share(1024, 1.0)])
    distribute(Share(parts=[limited, other], most=9.0), 1.0)
    assert (limited.rate, other.rate) == pytest.approx((0.2, 0.8))


@given(
    st.floats(0.1, 64),
    st.lists(st.tuples(st.integers(2, 1 << 18), st.floats(0, 8)), min_size=1, max_size=20),
)
def test_nothing_is_lost_and_nobody_has_more_than_can_be_used(cpus: float, claims: list[tuple[int, float]]) -> None:
    rates = fill(cpus, claims)
    assert sum(rates) == pytest.approx(min(cpus, sum(most for _, most in claims)))
    assert all(rate <= most + 1e-9 for rate, (_, most) in zip(rates, claims, strict=True))
    levels = [rate / weight for rate, (weight, most) in zip(rates, claims, strict=True) if rate < most - 1e-9]
    assert max(levels, default=0.0) == pytest.approx(min(levels, default=0.0))
