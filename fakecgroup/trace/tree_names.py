"""Names that are the kernel's or systemd's, and nobody's own."""

from __future__ import annotations

from functools import cache

from ..conformance.explain.cftypes import handlers_of
from ..machine.mounts import SYSTEMD_MOUNTS, UNIFIED

HIERARCHIES = frozenset(name for mount in SYSTEMD_MOUNTS for name in (mount.directory, *mount.links)) | {UNIFIED}
"""The directories of v1's hierarchies, and their links."""


@cache
def is_file(name: str) -> bool:
    """Whether some kernel has an interface file of this name."""
    return handlers_of(name, dfl=True) is not None or handlers_of(name, dfl=False) is not None
