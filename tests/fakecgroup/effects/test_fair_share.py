"""Shares of the CPU by weight, in hierarchies."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
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


def _thread(weight: int = 1024) -> Share:
    """A thread that is always busy."""
    return Share(weight, 1.0, bound=True)


def test_what_a_thread_cannot_use_of_two_cpus_goes_to_all_by_load() -> None:
    # as booted kernels do: the group's weight is divided among CPUs by the load of its tasks there
    alone, light, heavy = _thread(19), _thread(26), _thread(117)
    distribute(Share(most=9.0, parts=[alone, Share(50, 9.0, [light, heavy])]), 2.0)
    light_part = 50 * 26 / (26 + 117)
    assert heavy.rate == 1.0
    assert (alone.rate, light.rate) == pytest.approx((19 / (19 + light_part), light_part / (19 + light_part)))


def test_what_a_thread_leaves_that_sleeps_goes_to_those_beside_it() -> None:
    sleepy, beside, other = Share(1024, 0.2), _thread(), _thread()
    distribute(Share(most=9.0, parts=[Share(1024, 9.0, [sleepy, beside]), Share(1024, 9.0, [other])]), 1.0)
    assert (beside.rate, other.rate) == pytest.approx((0.3, 0.5))


def test_a_thread_without_a_cpu_still_has_a_part_in_its_groups_weight() -> None:
    elsewhere, here, other = Share(3072, 0.0, bound=True), _thread(), _thread()
    distribute(Share(most=9.0, parts=[Share(1024, 9.0, [elsewhere, here]), Share(1024, 9.0, [other])]), 1.0)
    assert (here.rate, other.rate) == pytest.approx((0.2, 0.8))


@settings(deadline=None)
@given(st.integers(1, 8), st.recursive(st.integers(1, 1000), lambda below: st.lists(below, min_size=1, max_size=4)))
def test_busy_threads_get_all_cpus_or_one_each(cpus: int, weights: object) -> None:
    threads: list[Share] = []

    def grow(shape: object) -> Share:
        if isinstance(shape, int):
            threads.append(_thread(shape))
            return threads[-1]
        assert isinstance(shape, list)
        return Share(1024, float("inf"), [grow(part) for part in shape])

    distribute(Share(parts=[grow(weights)], most=float("inf")), float(cpus))
    assert sum(thread.rate for thread in threads) == pytest.approx(min(cpus, len(threads)))
    assert all(thread.rate <= 1.0 for thread in threads)
