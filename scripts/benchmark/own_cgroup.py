"""A cgroup that a measurement makes for itself."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import UnavailableError


@contextmanager
def own_cgroup(root: Path) -> Iterator[Path]:
    """A cgroup below `root` while the context lasts. Raises UnavailableError where it cannot be made."""
    cgroup = root / f"fcg-bench-{secrets.token_hex(4)}"
    try:
        cgroup.mkdir()
    except OSError as error:
        raise UnavailableError(f"cannot make a cgroup in {root}: {error.strerror}") from None
    try:
        yield cgroup
    finally:
        cgroup.rmdir()
