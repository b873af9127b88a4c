"""Writes the id maps of the sandbox's user namespaces (user_namespaces(7))."""

from __future__ import annotations

import os
import pwd

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.run.userns_hints import hint

_ALL = 0xFFFFFFFF  # ids, from 0 on
_KINDS = ("uid_map", "gid_map")
_HELPERS = {"uid": ("newuidmap", "/etc/subuid"), "gid": ("newgidmap", "/etc/subgid")}


def write_outer_maps(pid: int) -> None:
    """Maps the ids of the outer user namespace, that of `pid`, each to itself.

    For root these are all ids. For another user they are the own id and the user's ranges in subuid(5) and subgid(5).
    Raises MountError.
    """
    try:
        if os.geteuid() == 0:
            for kind in _KINDS:
                _write(f"/proc/{pid}/{kind}", _identity(_rows(f"/proc/self/{kind}")))
            return
        if not _map_ranges(pid, "uid", os.geteuid()):
            _write(f"/proc/{pid}/uid_map", f"{os.geteuid()} {os.geteuid()} 1")
        if not _map_ranges(pid, "gid", os.getegid()):
            _write(f"/proc/{pid}/setgroups", "deny")  # without this the kernel refuses the gid map
            _write(f"/proc/{pid}/gid_map", f"{os.getegid()} {os.getegid()} 1")
    except OSError as error:
        why = hint("a container or a security module forbids it")
        raise MountError(f"cannot map users into a user namespace: {error.strerror}: {why}") from None


def write_inner_maps(pid: int) -> None:
    """Maps the ids of the command's user namespace, that of `pid`, to those of the outer one, in which we are.

    Root keeps all ids. Another user's id becomes 0, and the ids of their ranges follow from 1 on. Raises OSError.
    """
    for kind, own in zip(_KINDS, (os.geteuid(), os.getegid()), strict=True):
        rows = _rows(f"/proc/self/{kind}")
        text = _identity(rows) if os.geteuid() == 0 else _from_zero(rows, own)
        _write(f"/proc/{pid}/{kind}", text)


def _map_ranges(pid: int, kind: str, own: int) -> bool:
    """Writes a map with ranges by newuidmap(1) or newgidmap(1). Returns False without ranges or if it fails."""
    program, file = _HELPERS[kind]
    ranges = _ranges(file)
    if not ranges:
        return False
    import subprocess  # takes a while to load

    words = [str(word) for first, count in [(own, 1), *ranges] for word in (first, first, count)]
    try:
        return subprocess.run([program, str(pid), *words], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _ranges(path: str) -> list[tuple[int, int]]:
    """Our ranges in subuid(5) or subgid(5), each as first id and number of ids."""
    names = {str(os.geteuid())}
    try:
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        pass
    try:
        with open(path, errors="replace") as file:
            fields = [line.strip().split(":") for line in file]
    except OSError:
        return []
    return [
        (int(row[1]), int(row[2]))
        for row in fields
        if len(row) == 3 and row[0] in names and row[1].isdecimal() and row[2].isdecimal() and int(row[2])
    ]


def _rows(path: str) -> list[tuple[int, int]]:
    """The ranges of a map, each as first id inside and number of ids."""
    with open(path) as file:
        return [(int(first), int(count)) for first, _, count in map(str.split, file)]


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _identity(rows: list[tuple[int, int]]) -> str:
    """A map of each id to itself, without the last possible id. The initial user namespace maps that one too, and
    container runtimes take a map of all ids for it.
    """
    return "".join(f"{first} {first} {min(count, _ALL - 1 - first)}\n" for first, count in rows)


def _from_zero(rows: list[tuple[int, int]], own: int) -> str:
    """A map of `own` to 0 and of the other ids, in their order, to 1 and up."""
    lines, next_id = [f"0 {own} 1\n"], 1
    for first, count in rows:
        if (first, count) != (own, 1):
            lines.append(f"{next_id} {first} {count}\n")
            next_id += count
    return "".join(lines)
