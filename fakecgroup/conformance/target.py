"""What a case can be run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fakecgroup.conformance.case import Answer, Case, Op


class UnsupportedError(Exception):
    """The target cannot do this operation; the text says what it was.

    ``ends``: what follows in the case depends on it, so the rest is not compared.
    """

    def __init__(self, what: str, *, ends: bool = True) -> None:
        super().__init__(what)
        self.ends = ends


class TargetError(Exception):
    """A target is not to be had, or what is asked of it; the text is one line for the user."""


class Target(Protocol):
    """Something that answers operations as a kernel would: the model, a directory, a virtual machine."""

    @property
    def pids(self) -> Mapping[int, str]:
        """The case's processes and threads so far: name by number.  The same object throughout a case."""

    def start(self, case: Case) -> None:
        """Begin a case with an empty tree."""

    def do(self, op: Op) -> Answer:
        """Do one operation; the answer still has pids as numbers.  Raises UnsupportedError."""

    def finish(self) -> None:
        """End the case: its processes are gone, the tree is empty."""
