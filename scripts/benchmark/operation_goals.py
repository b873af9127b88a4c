"""What operations through a mount are to reach, as a ratio to the C file system without caches."""

from __future__ import annotations

_PATHS = ("write", "read", "stat", "listdir")  # with names that the kernel remembers


def goal_of(operation: str) -> float:
    return 1.0 if operation in _PATHS else 0.6


def bound_of(percent: float) -> str:
    """What an operation's time goes into, if so much of its CPU time is Python."""
    return f"{percent:.0f} % of the CPU time is Python in the daemon; the rest is FUSE and the client."
