"""Who is who in the command's user namespace (user_namespaces(7))."""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

from ..errors import MountError
from .forbidden import hint

_ALL = 0xFFFFFFFF  # ids, from 0 on
_HELPERS = {"uid": ("newuidmap", Path("/etc/subuid")), "gid": ("newgidmap", Path("/etc/subgid"))}


def write_maps(pid: int) -> None:
    """Gives the new user namespace of `pid` its ids: root keeps everyone as they are; anyone else is root there, alone
    or with ids from the ranges that the machine's root has given them (subuid(5), subgid(5)).

    Raises MountError.
    """
    process = Path(f"/proc/{pid}")
    try:
        if os.geteuid() == 0:
            for kind in ("uid_map", "gid_map"):
                (process / kind).write_text(_identity(Path(f"/proc/self/{kind}").read_text()))
            return
        if not _map_ranges(pid, "uid", os.geteuid()):
            (process / "uid_map").write_text(f"0 {os.geteuid()} 1")
        if not _map_ranges(pid, "gid", os.getegid()):
            (process / "setgroups").write_text("deny")  # else the group's map is not permitted
            (process / "gid_map").write_text(f"0 {os.getegid()} 1")
    except OSError as error:
        why = hint("a container or a security module forbids it")
        raise MountError(f"cannot map users into a user namespace: {error.strerror}: {why}") from None


def _map_ranges(pid: int, kind: str, own: int) -> bool:
    """Has newuidmap(1) or newgidmap(1) write the map; False where there is none of it, or it refuses."""
    program, file = _HELPERS[kind]
    words, next_id = ["0", str(own), "1"], 1
    for first, count in _ranges(file):
        words += [str(next_id), str(first), str(count)]
        next_id += count
    if next_id == 1:
        return False
    try:
        return subprocess.run([program, str(pid), *words], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _ranges(file: Path) -> list[tuple[int, int]]:
    """First id and number of ids of each range that is ours in a subuid(5) or subgid(5)."""
    names = {str(os.geteuid())}
    try:
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        pass
    try:
        fields = [line.strip().split(":") for line in file.read_text(errors="replace").splitlines()]
    except OSError:
        return []
    return [
        (int(row[1]), int(row[2]))
        for row in fields
        if len(row) == 3 and row[0] in names and row[1].isdecimal() and row[2].isdecimal() and int(row[2])
    ]


def _identity(text: str) -> str:
    """A map that shows each id of ours as itself, but the last of all that there can be: a map of all of them is the
    machine's own, by which container runtimes know that they are not in a user namespace.
    """
    ranges = [list(map(int, line.split())) for line in text.splitlines()]
    return "".join(f"{first} {first} {min(count, _ALL - 1 - first)}\n" for first, _, count in ranges)
