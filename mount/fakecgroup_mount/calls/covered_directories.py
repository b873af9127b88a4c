"""Directories of sysfs that are covered by others, which tell of the stated machine.

They are of the file system of the masks (`masked_cgroups`), so no table of mounts shows them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from fakecgroup.outside.sysfs import Directory, File, Link
from fakecgroup_mount.seccomp import syscalls

_MS_BIND, _MS_REC = 4096, 16384
_SYSFS = "/sys"


def keep_sysfs(root: str) -> None:
    """Keeps sysfs uncovered, at a path that is out of reach below the directory `root`. Raises OSError.

    A mount of sysfs in a namespace below is refused where none is visible as a whole (fs/namespace.c,
    mnt_already_visible).
    """
    kept = f"{root}/sysfs"
    os.mkdir(kept)
    syscalls.mount(_SYSFS, kept, None, _MS_BIND | _MS_REC)


def write(root: str, covers: Mapping[str, Directory]) -> None:
    """Writes the covers into the directory `root`: the first is in `0`, the next in `1`. Raises OSError.

    Files of the same text are one.
    """
    for number, directory in enumerate(covers.values()):
        top = f"{root}/{number}"
        os.mkdir(top)
        made, known = {""}, dict[File, str]()
        for path, entry in directory.items():
            parts = path.split("/")
            for depth in range(1, len(parts)):
                above = "/".join(parts[:depth])
                if above not in made:
                    os.mkdir(f"{top}/{above}")
                    made.add(above)
            where = f"{top}/{path}"
            if isinstance(entry, Link):
                os.symlink(entry.target, where)
            elif entry in known:
                os.link(known[entry], where)
            else:
                _write(where, entry)
                known[entry] = where


def _write(path: str, file: File) -> None:
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, file.text.encode(errors="replace"))
        os.fchmod(fd, file.mode)
    finally:
        os.close(fd)


def cover(root: str, covers: Mapping[str, Directory]) -> None:
    """Mounts what `write` has written. Raises OSError."""
    for number, path in enumerate(covers):
        syscalls.mount(f"{root}/{number}", path, None, _MS_BIND)
