"""What is wrong with a snapshot.

SnapshotError(ValueError)    one line: the file, what is wrong with it, what to do about it
"""

from __future__ import annotations


class SnapshotError(ValueError):
    """The text is the whole message for the user."""
