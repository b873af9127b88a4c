"""Names that a snapshot may have, and how many of them."""

from __future__ import annotations

MOST_FILES = 2_000_000
_NAME_MAX = 255  # bytes


def shown(name: str) -> str:
    """A name in a message on one line."""
    return name if name.isprintable() else ascii(name)


def is_name(name: str) -> bool:
    """True if a file or directory may be called so."""
    try:
        size = len(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False
    return 0 < size <= _NAME_MAX and name not in (".", "..") and "/" not in name and "\0" not in name
