"""Measures the operations in rounds. In each round the columns take turns."""

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


class Workload(NamedTuple):
    """What to measure: `ops` operations of each kind per column and round.

    There are `rounds` of them, or as many as begin within `seconds`.
    """

    operations: Sequence[str]
    ops: int
    rounds: int
    seconds: float | None


Times = dict[tuple[str, str], list[float]]
"""µs per operation, one for each round, by (operation, column)."""


def measure(workload: Workload, clients: Mapping[str, Client]) -> tuple[Times, int]:
    """Returns the times and the number of rounds. Raises BenchmarkError, StoppedError."""
    times: Times = {}
    for operation in workload.operations:
        for client in clients.values():
            client.measure(operation, min(workload.ops, _WARM_UP))
    begin = time.monotonic()
    done = 0
    while _more(workload, done, time.monotonic() - begin):
        _progress(workload, done, time.monotonic() - begin)
        names = list(clients)
        turn = done % len(names)
        for operation in (*workload.operations, NOTHING):
            for name in names[turn:] + names[:turn]:  # the order changes: no column always follows the same one
                interruption.check()
                ns = clients[name].measure(operation, workload.ops)
                times.setdefault((operation, name), []).append(ns / 1000 / workload.ops)
        done += 1
    _progress(workload, None, 0)
    return times, done


def _more(workload: Workload, done: int, passed: float) -> bool:
    return done < workload.rounds if workload.seconds is None else not done or passed < workload.seconds


def _progress(workload: Workload, done: int | None, passed: float) -> None:
    """A line on a terminal that is written over; None takes it away."""
    if not sys.stderr.isatty():
        return
    text = ""
    if done is not None:
        end = f" of {workload.rounds}" if workload.seconds is None else f", {passed:.0f} of {workload.seconds:g} s"
        text = f"round {done + 1}{end}"
    sys.stderr.write(f"\r\033[K{text}")
    sys.stderr.flush()
