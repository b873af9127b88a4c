"""Where learnt kernels are read from: files that a user names, and those that are shipped."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .learnt import LearntKernel

#: The learnt kernels that are shipped.
DIRECTORY = os.path.join(os.path.dirname(__file__), "kernels")
SUFFIX = ".kernel"


def names_a_file(text: str) -> bool:
    """True if a kernel is named by a file instead of a version: with a slash, or with .kernel at the end."""
    return "/" in text or text.endswith(SUFFIX)


def shipped() -> list[str]:
    """The names of the learnt kernels that are shipped, such as "debian-6.1-amd64.kernel"."""
    return sorted(name for name in os.listdir(DIRECTORY) if name.endswith(SUFFIX))


def read_learnt(path: str) -> LearntKernel:
    """The learnt kernel of a file. A name without a slash that is no file here may be one that is shipped.

    Raises LearntError.
    """
    from .learnt import parse  # takes a while to load

    found = path
    if "/" not in path and not os.path.exists(path) and path in shipped():
        found = os.path.join(DIRECTORY, path)
    called = os.path.basename(path.rstrip("/")) or path
    return parse(_content(found, called), called)


def _content(path: str, called: str) -> bytes:
    from .learnt import MOST_BYTES, LearntError

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no file can be called so"
        hint = f"; shipped are {', '.join(shipped())}" if "/" not in path and shipped() else ""
        raise LearntError(f"{called}: {why}{hint}") from None
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.pread(descriptor, MOST_BYTES + 1, 0) if regular else b""
    finally:
        os.close(descriptor)
    if not regular:
        raise LearntError(f"{called} is no file with a learnt kernel")
    if len(data) > MOST_BYTES:
        raise LearntError(f"{called} is no learnt kernel: it has more than {MOST_BYTES >> 20} MiB")
    return data
