"""Paths in messages: as somebody can paste them into a shell, on one line."""

from __future__ import annotations

import os
import shlex


def quoted(path: str) -> str:
    """A path as a word of a shell's; as $'...' (POSIX.1-2024) where it has control characters or is no text."""
    if path.isprintable():
        return shlex.quote(path)
    return "$'" + "".join(map(_escaped, path)) + "'"


def shown(path: str) -> str:
    """A path at the beginning of a message: as it is, but never on two lines."""
    return path if path.isprintable() else quoted(path)


def _escaped(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    if letter.isprintable():
        return letter
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(letter))
