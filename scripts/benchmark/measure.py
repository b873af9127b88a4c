"""Rounds of measurements, the columns taking turns."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from . import interruption
from .child import Client

OPERATIONS = {
    "mkdir": "mkdir",
    "write": "open+write+close",
    "read": "open+read+close",
    "pwrite": "pwrite",
    "pread": "pread",
    "stat": "stat",
    "listdir": "listdir",
    "rmdir": "rmdir",
}
NOTHING = "nothing"  # the client's own loop
_WARM_UP = 100  # operations


class Plan(NamedTuple):
    """`ops` operations of each kind per column in each round; `rounds`, or as many as begin within `seconds`."""

    operations: Sequence[str]
    ops: int
    rounds: int
    seconds: float | None


Times = dict[tuple[str, str], list[float]]
"""µs per operation, one for each round, by (operation, column)."""


def run(plan: Plan, clients: Mapping[str, Client]) -> tuple[Times, int]:
    """Measures; returns the times and the number of rounds. Raises BenchmarkError, StoppedError."""
    times: Times = {}
    for operation in plan.operations:
        for client in clients.values():
            client.measure(operation, min(plan.ops, _WARM_UP))
    begin = time.monotonic()
    done = 0
    while _more(plan, done, time.monotonic() - begin):
        _progress(plan, done, time.monotonic() - begin)
        names = list(clients)
        turn = done % len(names)
        for operation in (*plan.operations, NOTHING):
            for name in names[turn:] + names[:turn]:  # nobody always follows the same neighbour
                interruption.check()
                ns = clients[name].measure(operation, plan.ops)
                times.setdefault((operation, name), []).append(ns / 1000 / plan.ops)
        done += 1
    _progress(plan, None, 0)
    return times, done


def _more(plan: Plan, done: int, passed: float) -> bool:
    return done < plan.rounds if plan.seconds is None else not done or passed < plan.seconds


def _progress(plan: Plan, done: int | None, passed: float) -> None:
    """A line on a terminal that is written over; None takes it away."""
    if not sys.stderr.isatty():
        return
    text = ""
    if done is not None:
        end = f" of {plan.rounds}" if plan.seconds is None else f", {passed:.0f} of {plan.seconds:g} s"
        text = f"round {done + 1}{end}"
    sys.stderr.write(f"\r\033[K{text}")
    sys.stderr.flush()
