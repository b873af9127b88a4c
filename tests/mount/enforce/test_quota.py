"""When a group of real processes with a CPU quota is stopped, and when it goes on."""

from __future__ import annotations

import pytest

from fakecgroup.effects.bandwidth import Group
from fakecgroup_mount.enforce.quota import SHORTEST, Quota

MS = 1_000_000


@pytest.fixture
def quota() -> Quota:
    """20 ms in each 100 ms on 2 CPUs, of which 10 ms are used by 10 ms."""
    quota = Quota(Group(), 2)
    quota.limit(20 * MS, 100 * MS, 0)
    quota.use(10 * MS, 10 * MS)
    return quota


def test_it_runs_while_something_is_left(quota: Quota) -> None:
    assert (quota.group.throttled, quota.next_look(10 * MS)) == (False, 10 * MS)


def test_it_stops_when_nothing_is_left_until_the_next_period(quota: Quota) -> None:
    quota.use(20 * MS, 10 * MS)
    assert (quota.group.throttled, quota.next_look(20 * MS)) == (True, 80 * MS)


def test_it_goes_on_in_the_next_period(quota: Quota) -> None:
    quota.use(20 * MS, 10 * MS)
    quota.use(100 * MS, 0)
    assert (quota.group.throttled, quota.group.nr_periods, quota.group.nr_throttled) == (False, 1, 1)


def test_what_was_used_too_much_is_missing_in_the_next_period(quota: Quota) -> None:
    quota.use(25 * MS, 15 * MS)
    quota.use(100 * MS, 0)
    assert quota.group.runtime == 15 * MS


def test_what_was_used_too_much_is_no_burst(quota: Quota) -> None:
    quota.use(25 * MS, 15 * MS)
    quota.use(100 * MS, 0)
    assert quota.group.nr_bursts == 0


def test_of_what_was_used_too_much_the_burst_counts(quota: Quota) -> None:
    quota.limit(20 * MS, 100 * MS, 15 * MS)
    quota.use(50 * MS, 40 * MS)
    quota.use(100 * MS, 0)
    assert (quota.group.nr_bursts, quota.group.burst_time) == (1, 15 * MS)


def test_throttled_time_counts_for_each_cpu_on_which_somebody_waits(quota: Quota) -> None:
    quota.use(15 * MS, 10 * MS)
    quota.hold(3)
    quota.use(100 * MS, 0)
    assert quota.group.throttled_time == 2 * 85 * MS


def test_an_idle_group_has_no_periods(quota: Quota) -> None:
    quota.use(250 * MS, 0)
    quota.use(900 * MS, 0)
    assert (quota.group.active, quota.group.nr_periods) == (False, 2)


def test_a_new_limit_lets_everybody_go_on(quota: Quota) -> None:
    quota.use(20 * MS, 10 * MS)
    quota.limit(50 * MS, 100 * MS, 0)
    assert not quota.group.throttled


def test_what_exited_processes_have_used_is_taken_from_what_is_left(quota: Quota) -> None:
    quota.correct(9 * MS + 1)
    assert quota.next_look(10 * MS) == SHORTEST


def test_nobody_waits_longer_than_a_hundred_periods_for_what_looks_have_missed(quota: Quota) -> None:
    quota.correct(10**15)
    assert quota.group.runtime == -100 * 20 * MS
