"""Signals: the benchmark ends and leaves nothing behind.

A handler that raises can do so between starting a process and knowing it. So the handlers only take a note, and the
places that wait ask for it.
"""

from __future__ import annotations

import signal
from types import FrameType

from .errors import StoppedError

POLL = 0.1  # seconds between two looks, where something is waited for

_seen: list[int] = []


def watch() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP are noted."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _note)


def _note(number: int, frame: FrameType | None) -> None:
    _seen.append(number)


def check() -> None:
    """Raises StoppedError after a signal."""
    if _seen:
        raise StoppedError(_seen[0])
