"""What is mounted where: /proc/self/mountinfo (proc_pid_mountinfo(5))."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

FSTYPE = "fuse.fakecgroup"
SOURCE = "fakecgroup"

_LINKS = 40  # as the kernel has it (MAXSYMLINKS)
_OCTAL = re.compile(rb"\\([0-7]{3})")


class Mount(NamedTuple):
    """One line: the mount's number and that of the mount it is on, its device ("0:42"), the mount point's path, file
    system type and source.
    """

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
    """Every mount of a process' namespace; of those on one mount point the uppermost comes last. Raises OSError."""
    with open(f"/proc/{pid}/mountinfo", "rb") as file:
        yield from map(parse, file)


def parse(line: bytes) -> Mount:
    """A line of mountinfo."""
    fields = line.rstrip(b"\n").split(b" ")
    fstype, source = fields[fields.index(b"-") + 1 :][:2]
    return Mount(
        int(fields[0]), int(fields[1]), *(_unescape(field) for field in (fields[2], fields[4], fstype, source))
    )


def mount_of(fd: int, pid: int | str = "self") -> int:
    """The number of the mount that a descriptor of a process is on. Raises OSError."""
    with open(f"/proc/{pid}/fdinfo/{fd}", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"mnt_id:"))


def mount_at(path: str) -> Mount | None:
    """The uppermost mount on `path`, which is absolute and without links; None where there is none."""
    found = None
    for mount in mounts():
        if mount.point == path:
            found = mount
    return found


def device_at(path: str) -> str | None:
    """The device of the uppermost mount on `path`; None where there is none."""
    found = mount_at(path)
    return None if found is None else found.device


def real_path(path: str) -> str:
    """As os.path.realpath, but no tree of ours is asked, whose daemon may not answer: there are no links in one."""
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
    return os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), field))
