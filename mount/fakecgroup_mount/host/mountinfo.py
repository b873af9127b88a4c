"""The mounts of a process (/proc/PID/mountinfo, proc_pid_mountinfo(5))."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fakecgroup.late_pattern import pattern
from fakecgroup.named_tuple import NamedTuple

FSTYPE = "fuse.fakecgroup"
SOURCE = "fakecgroup"

_LINKS = 40  # as the kernel has it (MAXSYMLINKS)
_OCTAL = pattern(rb"\\([0-7]{3})")


class Mount(NamedTuple):
    """A line of mountinfo: mount id, parent's mount id, device ("0:42"), mount point, file system type and source."""

    number: int
    parent: int
    device: str
    point: str
    fstype: str
    source: str

    @property
    def ours(self) -> bool:
        return self.fstype == FSTYPE


def mounts(pid: int | str = "self") -> Iterator[Mount]:
    """The mounts of a process's namespace. Of several on one mount point the top one comes last. Raises OSError."""
    with open(f"/proc/{pid}/mountinfo", "rb") as file:
        yield from map(parse, file)


def parse(line: bytes) -> Mount:
    """Parses a line of mountinfo."""
    fields = line.rstrip(b"\n").split(b" ")
    fstype, source = fields[fields.index(b"-") + 1 :][:2]
    return Mount(
        int(fields[0]), int(fields[1]), *(_unescape(field) for field in (fields[2], fields[4], fstype, source))
    )


def mount_of(fd: int, pid: int | str = "self") -> int:
    """The mount id of a process's descriptor. Raises OSError."""
    with open(f"/proc/{pid}/fdinfo/{fd}", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"mnt_id:"))


def mount_at(path: str) -> Mount | None:
    """The top mount on `path` (absolute, without links); None without one."""
    found = None
    for mount in mounts():
        if mount.point == path:
            found = mount
    return found


def device_at(path: str) -> str | None:
    """The device of the top mount on `path`; None without one."""
    found = mount_at(path)
    return None if found is None else found.device


def real_path(path: str) -> str:
    """os.path.realpath without using trees of ours, whose daemon may not answer. They contain no links to follow."""
    trees = {mount.point for mount in mounts() if mount.ours}
    real, left = "/", os.path.join(os.getcwd(), path).split("/")[::-1]
    links = 0
    while left:
        name = left.pop()
        if name in ("", "."):
            continue
        if name == "..":
            real = os.path.dirname(real)
            continue
        real = os.path.join(real, name)
        if any(real == tree or real.startswith(tree + "/") for tree in trees):
            continue
        try:
            target = os.readlink(real)
        except OSError:
            continue
        links += 1
        if links > _LINKS:
            return os.path.abspath(path)
        real = "/" if target.startswith("/") else os.path.dirname(real)
        left += target.split("/")[::-1]
    return real


def _unescape(field: bytes) -> str:
    if b"\\" not in field:
        return os.fsdecode(field)
    return os.fsdecode(_OCTAL().sub(lambda match: bytes([int(match[1], 8)]), field))
