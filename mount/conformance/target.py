"""What a case can be run on."""

from __future__ import annotations

from typing import Protocol

from .case import Answer, Case


class Unsupported(Exception):
    """The target has nothing like this operation; the text says what it was."""


class Target(Protocol):
    """Something that answers cases: the model, a directory, a virtual machine."""

    def run(self, case: Case) -> list[Answer]:
        """The normalised answers to a case on an empty tree. Raises Unsupported."""
