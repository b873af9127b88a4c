"""What can go wrong besides the programs."""

from __future__ import annotations


class ProgramsError(Exception):
    """One line for the user."""
