"""Triggers on pressure: growth in a window, and events."""

from __future__ import annotations

import pytest

from fakecgroup.effects.pressure_trigger import Monitor, PressureTrigger, SlowMonitor, Window

_MS = 1_000_000
_JIFFY = 4 * _MS


def _trigger(threshold: int, window: int, *, remembers: bool = True) -> PressureTrigger:
    """A trigger of `some`, with times in ms."""
    return PressureTrigger("some", threshold * _MS, Window(window * _MS), remembers=remembers)


def test_growth_is_filled_up_from_the_window_before() -> None:
    """psi.c, window_update: 300 in the window before, of which three quarters are still in this one."""
    window = Window(1000)
    window.reset(0, 0)
    assert window.update(1001, 300) == 300
    assert window.update(1001 + 250, 400) == 100 + 225


def test_there_is_one_event_in_a_window() -> None:
    trigger = _trigger(100, 1000)
    fired = []
    for now in range(0, 3001, 100):
        if trigger.check(now * _MS, now * _MS, grown=now > 0):
            fired.append(now)
            trigger.event = False
    assert fired == [100, 1100, 2100]


def test_an_event_is_told_of_once_until_somebody_polls() -> None:
    trigger = _trigger(100, 1000)
    assert trigger.check(200 * _MS, 200 * _MS, grown=True)
    assert not trigger.check(1300 * _MS, 1300 * _MS, grown=True)
    assert trigger.event


def test_a_breach_right_after_an_event_is_remembered_since_5_18() -> None:
    def later(*, remembers: bool) -> bool:
        trigger = _trigger(100, 1000, remembers=remembers)
        trigger.check(200 * _MS, 200 * _MS, grown=True)
        trigger.event = False
        trigger.check(300 * _MS, 300 * _MS, grown=True)
        return trigger.check(1300 * _MS, 300 * _MS, grown=False)

    assert later(remembers=True)
    assert not later(remembers=False)


def test_a_monitor_looks_ten_times_in_a_window_on_a_tick_while_something_stalls() -> None:
    monitor = Monitor(_JIFFY, [_trigger(500, 1000)])
    looks = [8 * _MS]
    while monitor.at is not None or len(looks) == 1:
        now = looks[-1]
        monitor.look(now, {"some": min(now, 300 * _MS), "full": 0})
        if monitor.at is not None:
            looks.append(monitor.at)
    assert [look // _MS for look in looks] == [8 + 108 * number for number in range(14)]


def test_a_monitor_of_unprivileged_triggers_looks_when_averages_are_due() -> None:
    monitor = SlowMonitor(250)
    monitor.triggers.append(_trigger(300, 2000))
    assert monitor.look(2004 * _MS, {"some": 1600 * _MS, "full": 0}) == monitor.triggers
    assert monitor.at == 4032 * _MS


@pytest.mark.parametrize(("version", "value"), [((5, 10), 0), ((6, 1), 100)])
def test_a_new_trigger_counts_from_what_was_seen_last_and_before_6_1_from_nothing(
    version: tuple[int, int], value: int
) -> None:
    monitor = Monitor(_JIFFY, [_trigger(500, 1000)])
    monitor.look(8 * _MS, {"some": 100, "full": 0})
    new = _trigger(500, 1000)
    monitor.begin(new, 9 * _MS, version)
    assert new.window.value == value
