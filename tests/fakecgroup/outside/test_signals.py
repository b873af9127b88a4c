"""Who may signal whom. The answers are those of Linux 6.18."""

from __future__ import annotations

from signal import SIGCONT, SIGURG

import pytest

from fakecgroup.outside.signals import may_signal

ONE, OTHER = 1234, 4321
SAME = (ONE, ONE, ONE)


@pytest.mark.parametrize(
    ("caller", "target", "allowed"),
    [
        (SAME, SAME, True),
        (SAME, (OTHER, OTHER, OTHER), False),
        (SAME, (ONE, OTHER, ONE), True),
        (SAME, (ONE, ONE, OTHER), True),
        (SAME, (OTHER, ONE, ONE), True),
        (SAME, (OTHER, ONE, OTHER), False),
        (SAME, (ONE, OTHER, OTHER), True),
        ((ONE, OTHER, OTHER), (OTHER, OTHER, OTHER), True),
        ((OTHER, ONE, OTHER), SAME, True),
        ((ONE, OTHER, OTHER), SAME, True),
        ((OTHER, OTHER, ONE), SAME, False),
    ],
)
def test_the_callers_real_or_effective_id_is_the_targets_real_or_saved_one(
    caller: tuple[int, ...], target: tuple[int, ...], allowed: bool
) -> None:
    assert may_signal(SIGURG, caller, target, same_session=True, capable=False) is allowed


def test_cap_kill_allows_it_for_everybody() -> None:
    assert may_signal(SIGURG, SAME, (OTHER, OTHER, OTHER), same_session=False, capable=True)


@pytest.mark.parametrize("same_session", [False, True])
def test_sigcont_is_for_a_session(same_session: bool) -> None:
    others = (OTHER, OTHER, OTHER)
    assert may_signal(SIGCONT, SAME, others, same_session=same_session, capable=False) is same_session
