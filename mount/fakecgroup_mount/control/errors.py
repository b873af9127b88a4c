"""What is wrong with a command.

CommandError(Exception)    one line for the user, and the exit status: 1 it failed, 2 it was asked wrongly
"""

from __future__ import annotations


class CommandError(Exception):
    """The text is the whole message for the user."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status
