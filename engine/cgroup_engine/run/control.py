"""The clock of ``run``, and how a signal interrupts its work."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass


@dataclass(frozen=True)
class Control:
    """The clock of a reconcile, and its interruption by a signal.

    ``clock``: seconds, never going back. ``sleep``: waits for some seconds.

    ``reading``: a context for work that changes nothing; a signal may end it at any point. ``ending``: asked before
    each step; True stops there.
    """

    clock: Callable[[], float]
    sleep: Callable[[float], None]
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    ending: Callable[[], bool] = lambda: False
