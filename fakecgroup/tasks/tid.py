"""The numbers of tasks."""

from __future__ import annotations

from typing import Annotated

Tid = Annotated[int, "tid"]
"""A number that names a task of the machine: where a tree is restored among other tasks, it becomes another one.

State that a snapshot keeps says `Tid` for such numbers, and `int` for all others.
"""

FIRST_SIMULATED = 1 << 23
"""The first pid of a simulated process: twice the most pids of a machine with 64 bits (PID_MAX_LIMIT, 4,194,304)."""
