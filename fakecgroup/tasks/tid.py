"""The number of a task."""

from __future__ import annotations

from typing import Annotated

Tid = Annotated[int, "tid"]
"""A number that names a task of the machine: where a tree is restored among other tasks, it becomes another one.

State that a snapshot keeps says `Tid` for such numbers, and `int` for all others.
"""
