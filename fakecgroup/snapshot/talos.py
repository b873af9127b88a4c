"""Reads the archive of `talosctl cp /sys/fs/cgroup - > cgroup.tar.gz`, which `talosctl cgroups` also reads.

It is a tar of the unified hierarchy, with each file's bytes. Any tar of that kind is read, wherever in it the hierarchy
begins. It has no processes and no machine: what files show of them is taken.
"""

from __future__ import annotations

import re
import stat
import tarfile
from typing import IO, cast

from .content import NOT_READ, TALOS, Attributes, SeenCgroup, SeenFile, SeenHierarchy, SeenKernel, SeenMachine, Snapshot
from .fields import FieldError
from .names import MOST_FILES, is_name
from .unpacked import Unpacked

_MOST = 8 << 20  # bytes of one file
_MAY_BE_EMPTY = re.compile(r"cgroup\.(procs|threads|subtree_control|controllers)|(io|rdma|misc)\..*")
_ID_MAX = (1 << 32) - 1


def read(data: bytes, called: str) -> Snapshot:
    """The snapshot in the bytes of an archive. Raises FieldError."""
    archive = _Archive()
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", Unpacked(data)), mode="r|") as tar:
            for member in tar:
                archive.take(tar, member)
                tar.members = []  # type: ignore[attr-defined]  # it keeps them all
    except (tarfile.TarError, EOFError, ValueError, OverflowError, OSError):
        raise FieldError("it is neither a snapshot nor a tar") from None
    return archive.snapshot(called)


class _Archive:
    """The directories and files so far, by path."""

    def __init__(self) -> None:
        self._directories: dict[tuple[str, ...], Attributes] = {}
        self._files: dict[tuple[str, ...], dict[str, SeenFile]] = {}
        self._count = 0
        self._taken = 0

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Note one member of the archive. Raises FieldError."""
        parts = tuple(part for part in member.name.split("/") if part not in ("", "."))
        if not all(map(is_name, parts)):
            raise FieldError(f"no file can be called {member.name[:80]!a}")
        self._count += 1
        if self._count > MOST_FILES:
            raise FieldError(f"it has more than {MOST_FILES:,} files")
        uid, gid = (number if 0 <= number <= _ID_MAX else 0 for number in (member.uid, member.gid))
        attributes = Attributes(stat.S_IMODE(member.mode), uid, gid)
        self._taken = max(self._taken, int(member.mtime))
        if member.isdir():
            self._directories[parts] = attributes
        elif member.isreg() and parts:
            self._files.setdefault(parts[:-1], {})[parts[-1]] = _file(tar, member, parts[-1], attributes)

    def snapshot(self, called: str) -> Snapshot:
        roots = [parts for parts, files in self._files.items() if "cgroup.controllers" in files]
        if not roots:
            raise FieldError("it is neither a snapshot nor a tar of a unified hierarchy")
        top = min(roots, key=len)
        places = {
            tuple(parts[:length])
            for parts in (*self._directories, *self._files)
            if parts[: len(top)] == top
            for length in range(len(top), len(parts) + 1)
        }
        hierarchy = SeenHierarchy("", True)
        for parts in sorted(places):
            hierarchy.cgroups.append(
                SeenCgroup(
                    "/" + "/".join(parts[len(top) :]),
                    self._directories.get(parts, Attributes(0o755)),
                    self._files.get(parts, {}),
                )
            )
        root = hierarchy.cgroups[0]
        controllers = root.files["cgroup.controllers"].data or b""
        hierarchy.controllers = tuple(controllers.decode("latin-1").split())
        lost = sum(file.error == NOT_READ for one in hierarchy.cgroups for file in one.files.values())
        return Snapshot(
            "v2",
            TALOS,
            SeenKernel(""),
            SeenMachine(cpus=0, nodes=0),
            [hierarchy],
            left_out=[f"files that are empty in the archive: {lost}"] if lost else [],
            taken=max(0, self._taken),
            called=called,
        )


def _file(tar: tarfile.TarFile, member: tarfile.TarInfo, name: str, attributes: Attributes) -> SeenFile:
    if member.size > _MOST:
        raise FieldError(f"{member.name[:80]!a} has more than {_MOST >> 20} MiB")
    if not attributes.mode & 0o444:
        return SeenFile(None, "EINVAL", attributes)
    opened = tar.extractfile(member)
    data = b"" if opened is None else opened.read()
    if not data and not _MAY_BE_EMPTY.fullmatch(name):
        return SeenFile(None, NOT_READ, attributes)  # talosctl stores what it cannot hold with 0 bytes
    return SeenFile(data, "", attributes)
