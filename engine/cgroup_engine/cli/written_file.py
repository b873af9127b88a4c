"""A file that a command writes for people."""

from __future__ import annotations

from cgroup_engine.errors import InputError


def write_file(name: str, text: str) -> None:
    """Writes text as it is.

    :raises InputError: it cannot be written.
    """
    try:
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as failed:
        raise InputError(f"{name}: cannot be written: {failed.strerror}", path=name, errno=failed.errno) from None
