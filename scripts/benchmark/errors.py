"""Errors of the benchmark, and reasons to leave a column out.

Exception
├── BenchmarkError     the benchmark failed
├── UnavailableError   a column cannot be measured on this machine; the others can
└── StoppedError       a signal asked it to end
"""

from __future__ import annotations


class BenchmarkError(Exception):
    """The benchmark cannot go on; its text is one line for the user."""


class UnavailableError(Exception):
    """A column is left out; its text is the reason."""


class StoppedError(Exception):
    """SIGINT, SIGTERM or SIGHUP has come."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
