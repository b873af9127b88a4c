"""The cgroup file systems that are mounted on this machine (/proc/self/mountinfo)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from fakecgroup.named_tuple import NamedTuple

_OCTAL = re.compile(r"\\([0-7]{3})")


class CgroupMount(NamedTuple):
    """A mounted hierarchy: ``root`` is the cgroup at its mount point, ``options`` those of the file system."""

    point: Path
    root: str
    unified: bool
    options: tuple[str, ...]

    def own_cgroup(self) -> Path | None:
        """The directory of this process's cgroup, None where it is not below the mount point."""
        for line in Path("/proc/self/cgroup").read_text(errors="surrogateescape").splitlines():
            number, names, path = line.split(":", 2)
            if number == "0" if self.unified else set(names.split(",")) & set(self.options) - {""}:
                inside = os.path.relpath(path, self.root)
                return None if inside.startswith("..") or not path.startswith("/") else self.point / inside
        return None


def cgroup_mounts() -> Iterator[CgroupMount]:
    """The mounts of cgroup file systems, without those of other kinds. Raises OSError."""
    with open("/proc/self/mountinfo", errors="surrogateescape") as file:
        for line in file:
            fields = line.split()
            kind, _, options = fields[fields.index("-") + 1 :][:3]
            if kind in ("cgroup", "cgroup2"):
                root, point = (_OCTAL.sub(lambda match: chr(int(match[1], 8)), field) for field in fields[3:5])
                yield CgroupMount(Path(point), root, kind == "cgroup2", tuple(options.split(",")))


def hierarchies() -> dict[str, CgroupMount]:
    """The mount of each v1 controller, and of the hierarchy named systemd."""
    found: dict[str, CgroupMount] = {}
    for mount in cgroup_mounts():
        if not mount.unified:
            for option in mount.options:
                found.setdefault(option.removeprefix("name="), mount)
    with open("/proc/cgroups") as file:
        controllers = {line.split()[0] for line in file}
    return {name: mount for name, mount in found.items() if name == "systemd" or name in controllers}


def unified() -> CgroupMount | None:
    """The mount of the unified hierarchy; None without one."""
    return next((mount for mount in cgroup_mounts() if mount.unified), None)


def layouts() -> list[str]:
    """The layouts that the cases can have here, the one of most controllers first."""
    there = unified() is not None
    if any(name != "systemd" for name in hierarchies()):
        return ["v1", "hybrid", "v2"] if there else ["v1"]
    return ["v2"] if there else []
