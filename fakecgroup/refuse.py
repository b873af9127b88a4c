"""Refusals: an ``OSError`` with the kernel's errno."""

from __future__ import annotations

import os


def refuse(errno: int) -> OSError:
    """The error to raise for `errno`, with the C library's text for it."""
    return OSError(errno, os.strerror(errno))
