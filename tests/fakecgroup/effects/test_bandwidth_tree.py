"""CFS bandwidth of single groups and trees, beside what a booted 6.12.117 counted."""

from __future__ import annotations

import pytest

from fakecgroup.effects.bandwidth import CPU, Group, Runner
from fakecgroup.effects.bandwidth_tree import BandwidthTree

_MS = 1_000_000
_SECOND = 1000 * _MS


def _limited(quota: int, *runners: Runner, groups: tuple[Group, ...] = (), burst: int = 0) -> Group:
    """A group of a quota in ms per 100 ms, with a full quota to begin with."""
    amount = quota * _MS * CPU
    return Group(
        amount, burst=burst * CPU, unit=CPU, runners=[*runners], groups=[*groups], runtime=amount, snapshot=amount
    )


def _used(group: Group) -> float:
    """Seconds of CPU time that the runners of a group and below it had."""
    return sum(runner.used for one in group.below() for runner in one.runners) / CPU / _SECOND


def test_one_busy_task_under_a_fifth_of_a_cpu_is_throttled_in_each_period() -> None:
    """6.12.117, 6 s: usage 1.225 s, 60 periods, 60 throttled, throttled for 4.74 s."""
    group = _limited(20, Runner(CPU))
    BandwidthTree(group, 0).advance(6 * _SECOND)
    assert (group.nr_periods, group.nr_throttled) == (60, 60)
    assert _used(group) == pytest.approx(1.225, rel=0.03)
    assert group.throttled_time / _SECOND == pytest.approx(4.74, rel=0.02)


def test_throttled_time_sums_over_the_cpus_on_which_tasks_wait() -> None:
    """6.12.117, 6 s: two tasks under half a CPU were throttled for 8.76 s."""
    group = _limited(50, Runner(CPU), Runner(CPU))
    BandwidthTree(group, 0).advance(6 * _SECOND)
    assert group.throttled_time / _SECOND == pytest.approx(8.76, rel=0.03)


def test_work_that_comes_in_bits_is_throttled_in_the_period_that_it_exceeds() -> None:
    """6.12.117, 8 s of 30 ms of work and 900 ms of sleep under a fifth: 25 periods, 8 throttled.

    A timer that finds nothing to do stops, so each bit of work counts three periods, or two.
    """
    group, cycles = _worked(_limited(20, Runner()), run=30, sleep=900, seconds=8)
    assert cycles == 8
    assert abs(group.nr_periods - 25) <= 1
    assert group.nr_throttled == 8


def test_a_burst_lets_a_group_use_what_it_left_before() -> None:
    """6.12.117, 8 s of 35 ms of work and 165 ms of sleep under a fifth, burst 20 ms: 81 periods, 1 throttled."""
    group, _ = _worked(_limited(20, Runner(), burst=20 * _MS), run=35, sleep=165, seconds=8)
    assert abs(group.nr_periods - 81) <= 1
    assert group.nr_throttled == 1


def test_what_is_used_beyond_the_quota_counts_as_burst() -> None:
    group = _limited(20, Runner(CPU), burst=20 * _MS)
    group.runtime = group.snapshot = 40 * _MS * CPU
    BandwidthTree(group, 0).advance(100 * _MS)
    assert (group.nr_bursts, group.burst_time) == (1, 20 * _MS * CPU)


def test_the_quota_of_a_group_above_stops_all_below() -> None:
    inner = [_limited(50, Runner(CPU)), _limited(50, Runner(CPU))]
    outer = _limited(80, groups=tuple(inner))
    BandwidthTree(outer, 0).advance(6 * _SECOND)
    assert _used(outer) == pytest.approx(4.8)
    assert [group.nr_throttled for group in inner] == [0, 0]
    assert outer.nr_throttled == 60


def test_a_group_below_waits_too_while_one_above_is_throttled() -> None:
    inner = Group(runners=[Runner(CPU)])
    outer = _limited(20, groups=(inner,))
    BandwidthTree(outer, 0).advance(6 * _SECOND)
    assert inner.throttled_time == 0
    assert inner.halted_time == outer.halted_time == outer.throttled_time > 0


@pytest.mark.parametrize("quota", [5, 20, 50, 130])
def test_a_jump_over_periods_that_repeat_counts_the_same(quota: int) -> None:
    def counted(*, skip: bool) -> list[float]:
        inner = _limited(30, Runner(CPU), Runner(CPU * 4 // 10))
        group = _limited(quota, Runner(CPU * 7 // 10), groups=(inner,))
        BandwidthTree(group, 0).advance(7 * _SECOND + 33 * _MS, skip=skip)
        return [
            value
            for one in (group, inner)
            for value in (one.nr_periods, one.nr_throttled, one.throttled_time, _used(one))
        ]

    assert counted(skip=True) == counted(skip=False)


def test_time_stops_when_a_runner_has_what_it_needs() -> None:
    runner = Runner(CPU, needs=30 * _MS * CPU)
    tree = BandwidthTree(_limited(20, runner), 0)
    assert tree.completion(_SECOND) == 110 * _MS
    assert tree.now == 0
    assert tree.advance(_SECOND) is runner
    assert tree.now == 110 * _MS


def _worked(group: Group, *, run: int, sleep: int, seconds: int) -> tuple[Group, int]:
    """The group after so many seconds in which its task runs for ms of CPU time and sleeps, and how often it did."""
    (runner,) = group.runners
    tree = BandwidthTree(group, 0)
    cycles = 0
    while tree.now < seconds * _SECOND:
        runner.rate, runner.needs = CPU, run * _MS * CPU
        tree.set_rates()
        if tree.advance(seconds * _SECOND) is None:
            break
        cycles += 1
        runner.rate, runner.needs = 0, None
        tree.set_rates()
        tree.advance(min(seconds * _SECOND, tree.now + sleep * _MS))
    return group, cycles


def test_throttled_time_counts_at_most_once_for_each_cpu() -> None:
    group = _limited(120, Runner(CPU * 2 // 3), Runner(CPU * 2 // 3), Runner(CPU * 2 // 3))
    group.cpus = 2
    BandwidthTree(group, 0).advance(10 * _SECOND)
    assert group.throttled_time / _SECOND == pytest.approx(8.0, rel=0.02)


def test_what_a_throttled_group_leaves_goes_to_those_beside_it() -> None:
    """Under 3/4 of a CPU, one of two groups has a quota of its own: the other has the rest."""
    inner = [_limited(20, Runner(CPU * 5 // 10, most=CPU)), Group(runners=[Runner(CPU * 5 // 10, most=CPU)])]
    BandwidthTree(_limited(75, groups=tuple(inner)), 0).advance(10 * _SECOND)
    assert [_used(group) for group in inner] == pytest.approx([2.0, 5.5], rel=0.02)
