"""When a number of the model agrees with those of a kernel's runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fakecgroup.scenario.scenario import Expectation

from .catalogue import Entry


@dataclass(frozen=True)
class Rule:
    """``agrees`` takes the numbers of the runs, and the model's."""

    name: str
    agrees: Callable[[Sequence[float], float], bool]


def _mean(runs: Sequence[float]) -> float:
    return sum(runs) / len(runs)


def _near(runs: Sequence[float], model: float) -> bool:
    return abs(model - _mean(runs)) <= max(_TICK, 0.02 * max(_mean(runs), model))


def _in_spread(slack: float) -> Callable[[Sequence[float], float], bool]:
    """2 % more than the spread on both sides, or so much as `slack`."""

    def agrees(runs: Sequence[float], model: float) -> bool:
        least, most = min(runs), max(runs)
        return min(least * 0.98, least - slack) <= model <= max(most * 1.02, most + slack)

    return agrees


def _one_per_hundred(runs: Sequence[float], model: float) -> bool:
    """One more or less for each 100 periods, than some run had."""
    slack = max(1.0, max(runs) / 100)
    return min(runs) - slack <= model <= max(runs) + slack


def _within_a_batch(runs: Sequence[float], model: float) -> bool:
    return min(runs) - _BATCH <= model <= max(runs) + _BATCH


_BATCH = 64 * 4096.0  # bytes that a CPU is charged at once
_EVENTS_OF_A_SLEEP = 17.0  # of `high`, before a process sleeps for a batch: one, and one for each retry
_SLEEP = 100_000.0  # µs
#: Files that say what is held now.
_HELD = ("memory.current", "memory.usage_in_bytes", "memory.swap.current", "memory.stat")
_TICK = 4000.0  # µs: tasks are preempted at ticks

ONE_OF = Rule("one of", lambda runs, model: model in runs)
EXACT = Rule("exact", lambda runs, model: set(runs) == {model})
SHARE = Rule("2 %", _near)
SPREAD = Rule("spread", _in_spread(0.0))
SPREAD_OF_TIME = Rule("spread", _in_spread(_TICK))
BATCH = Rule("a batch", _within_a_batch)
HELD = Rule("a batch", _in_spread(_BATCH))
HIGH_EVENTS = Rule("a sleep", _in_spread(_EVENTS_OF_A_SLEEP))
HIGH_PRESSURE = Rule("a sleep", _in_spread(_SLEEP))
PERIODS = Rule("±1 per 100", _one_per_hundred)


def rule_for(one: Expectation, entry: Entry) -> Rule:
    """The rule for what an expectation asks for."""
    if one.file is None or one.key == "oom_kill":
        return EXACT if entry.shape.instruction else ONE_OF
    if one.file.endswith("memory.peak"):
        return BATCH
    if one.file.endswith(_HELD):
        return HELD
    if one.file.endswith("memory.pressure"):
        return HIGH_PRESSURE
    if one.key == "high":
        return HIGH_EVENTS
    if one.key in ("nr_periods", "nr_throttled"):
        return PERIODS
    if entry.name.startswith("tree-1-"):
        return SHARE
    if one.key in ("usage_usec", "nice_usec", "throttled_usec", "burst_usec") or one.file.endswith(".pressure"):
        return SPREAD_OF_TIME
    return SPREAD
