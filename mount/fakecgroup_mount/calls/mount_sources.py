"""What each mount of the tree was said to be a mount of: the first word of a line of /proc/mounts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from fakecgroup_mount.host.mountinfo import mounts


class MountSources:
    """Mounts are known by their number. A copy in another mount namespace has another one: it is known by its place.

    Numbers are used again, so those that are gone are forgotten before the kernel makes a mount that we do not see.
    """

    def __init__(self) -> None:
        self._of_mount: dict[int, tuple[int, bytes]] = {}  # the mount namespace that it was made in, the source
        self._of_place: dict[tuple[bytes, bytes], bytes] = {}  # by root and mount point

    def note(self, mount: int, source: bytes, tid: int) -> None:
        """A thread makes a mount. Raises OSError: no such thread."""
        self._of_mount[mount] = _namespace(tid), source

    def forget_gone(self, tid: int, point: bytes) -> None:
        """A thread is about to mount something else at `point`. Raises OSError: no such thread."""
        namespace, there = _namespace(tid), {mount.number for mount in mounts(tid)}
        others = _namespaces() if any(where != namespace for where, _ in self._of_mount.values()) else set()
        for mount, (where, _) in list(self._of_mount.items()):
            if mount not in there if where == namespace else where not in others:
                del self._of_mount[mount]
        for place in [place for place in self._of_place if place[1] == point]:
            del self._of_place[place]

    def of(self, fields: Sequence[bytes]) -> bytes | None:
        """The source for a line of mountinfo, as it is shown; None for a mount that nobody has named."""
        mount, place = int(fields[0]), (fields[3], fields[4])
        if mount in self._of_mount:
            self._of_place[place] = self._of_mount[mount][1]
        return self._of_place.get(place)


def _namespaces() -> set[int]:
    """The mount namespaces of all processes that we see."""
    found = set()
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found.add(_namespace(int(pid)))
    return found


def _namespace(tid: int) -> int:
    return os.stat(f"/proc/{tid}/ns/mnt").st_ino
