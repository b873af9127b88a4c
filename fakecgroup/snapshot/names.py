"""Names that a snapshot may have, and how many of them."""

from __future__ import annotations

MOST_FILES = 2_000_000
_NAME_MAX = 255  # bytes
_LEGACY_NAME_MAX = 4095  # bytes: a v1 hierarchy bounds the path alone (PATH_MAX)


def shown(name: str) -> str:
    """A name in a message on one line."""
    return name if name.isprintable() else ascii(name)


def is_name(name: str, *, legacy: bool = False) -> bool:
    """True if a file or directory may be called so; `legacy`: a cgroup of a v1 hierarchy."""
    try:
        size = len(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False
    most = _LEGACY_NAME_MAX if legacy else _NAME_MAX
    return 0 < size <= most and name not in (".", "..") and "/" not in name and "\0" not in name
