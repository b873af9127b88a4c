"""When timers expire."""

from __future__ import annotations

import pytest

from fakecgroup.effects.timer_wheel import expires


@pytest.mark.parametrize(("now", "delay", "at"), [(0, 1, 2), (100, 26, 127), (5, 62, 68)])
def test_a_short_timer_is_a_jiffy_late(now: int, delay: int, at: int) -> None:
    assert expires(now, delay) == at


@pytest.mark.parametrize(("now", "delay", "at"), [(0, 63, 64), (1, 63, 72), (0, 502, 504), (0, 504, 512)])
def test_a_long_timer_waits_for_the_next_multiple_of_its_level(now: int, delay: int, at: int) -> None:
    assert expires(now, delay) == at
