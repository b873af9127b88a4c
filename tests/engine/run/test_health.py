"""The answers to probes."""

from __future__ import annotations

from cgroup_engine.change.apply import Outcome
from cgroup_engine.errors import StepFailedError
from cgroup_engine.run.events import Complaint, Reconciled, Started, Stopping, Waiting
from cgroup_engine.run.health import GRACE, Health

from .conftest import Clock

DONE = Reconciled("start", 0.1, {})
FAILED = Reconciled("start", 0.1, {}, Outcome(failed=[StepFailedError("kubepods: mkdir failed: EACCES")]))


def test_it_is_alive_as_long_as_its_loop_comes_round(health: Health, clock: Clock) -> None:
    health.hear(Waiting(60))
    clock.now = 60 + GRACE
    assert health.alive().ok
    clock.now += 1
    assert not health.alive().ok
    assert health.alive().why == "the last turn of the loop was 121.0 s ago"


def test_it_is_dead_if_it_never_gets_to_its_loop(health: Health, clock: Clock) -> None:
    clock.now = GRACE + 1
    assert not health.alive().ok


def test_it_is_ready_once_a_look_at_the_tree_has_succeeded(health: Health) -> None:
    assert health.ready().why == "the tree has not been looked at yet"
    health.hear(Started("/cg", "v2", "kubepods", dry_run=False))
    assert not health.ready().ok
    health.hear(Complaint("https://10.0.0.1: cannot be reached"))
    assert health.ready().why == "https://10.0.0.1: cannot be reached"
    health.hear(FAILED)
    assert health.ready().why == "1 steps failed, such as kubepods: mkdir failed: EACCES"
    health.hear(DONE)
    assert health.ready().ok


def test_what_fails_later_does_not_make_it_less_ready(health: Health) -> None:
    for event in (DONE, FAILED, Complaint("x")):
        health.hear(event)
    assert health.ready().ok


def test_it_is_not_ready_when_it_stops(health: Health) -> None:
    health.hear(DONE)
    health.hear(Stopping("SIGTERM"))
    assert health.ready().why == "stopping: SIGTERM"
    assert health.alive().ok
