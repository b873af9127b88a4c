"""Who is who in the command's user namespace (user_namespaces(7))."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import MountError

_ALL = 0xFFFFFFFF  # ids, from 0 on


def write_maps(pid: int) -> None:
    """Gives the new user namespace of `pid` its ids: root keeps everyone as they are, anyone else is root there, alone.

    Raises MountError.
    """
    process = Path(f"/proc/{pid}")
    try:
        if os.geteuid() == 0:
            for kind in ("uid_map", "gid_map"):
                (process / kind).write_text(_identity(Path(f"/proc/self/{kind}").read_text()))
        else:
            (process / "setgroups").write_text("deny")  # else the group's map is not permitted
            (process / "uid_map").write_text(f"0 {os.geteuid()} 1")
            (process / "gid_map").write_text(f"0 {os.getegid()} 1")
    except OSError as error:
        raise MountError(
            f"cannot map users into a user namespace: {error.strerror}: a container or a security module forbids it"
        ) from None


def _identity(text: str) -> str:
    """A map that shows each id of ours as itself, but the last of all that there can be: a map of all of them is the
    machine's own, by which container runtimes know that they are not in a user namespace.
    """
    ranges = [list(map(int, line.split())) for line in text.splitlines()]
    return "".join(f"{first} {first} {min(count, _ALL - 1 - first)}\n" for first, _, count in ranges)
