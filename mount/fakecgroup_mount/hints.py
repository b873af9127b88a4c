"""Paths in messages, on one line, so that they can be pasted into a shell."""

from __future__ import annotations

import os


def quoted(path: str) -> str:
    """A path quoted for a shell. One with control characters or undecodable bytes becomes $'...' (POSIX.1-2024)."""
    if path.isprintable():
        import shlex  # takes a while to load

        return shlex.quote(path)
    return "$'" + "".join(map(_escaped, path)) + "'"


def shown(path: str) -> str:
    """A path at the beginning of a message: unquoted if it is printable, else `quoted`."""
    return path if path.isprintable() else quoted(path)


def _escaped(letter: str) -> str:
    if letter in "\\'":
        return "\\" + letter
    if letter.isprintable():
        return letter
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(letter))
