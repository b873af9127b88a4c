"""The source of each mount of the tree, as mount(2) was given it: the first word of a line of /proc/mounts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from fakecgroup_mount.host.mountinfo import mounts


class MountSources:
    """Sources by mount number. A copy of a mount in another mount namespace has another number: it is known by place.

    The kernel uses numbers again. So numbers that are gone are forgotten before it makes a mount that is not trapped.
    """

    def __init__(self) -> None:
        self._of_mount: dict[int, tuple[int, bytes]] = {}  # mount namespace and source
        self._of_place: dict[tuple[bytes, bytes], bytes] = {}  # by root and mount point

    def note(self, mount: int, source: bytes, tid: int) -> None:
        """Notes the source of a mount that a thread makes. Raises OSError: no such thread."""
        self._of_mount[mount] = _namespace(tid), source

    def forget_gone(self, tid: int, point: bytes) -> None:
        """Forgets what is gone, before a thread mounts something else at `point`. Raises OSError: no such thread."""
        namespace, there = _namespace(tid), {mount.number for mount in mounts(tid)}
        others = _namespaces() if any(where != namespace for where, _ in self._of_mount.values()) else set()
        for mount, (where, _) in list(self._of_mount.items()):
            if mount not in there if where == namespace else where not in others:
                del self._of_mount[mount]
        for place in [place for place in self._of_place if place[1] == point]:
            del self._of_place[place]

    def of(self, fields: Sequence[bytes]) -> bytes | None:
        """The source for the fields of a line of mountinfo; None for a mount whose making was not seen."""
        mount, place = int(fields[0]), (fields[3], fields[4])
        if mount in self._of_mount:
            self._of_place[place] = self._of_mount[mount][1]
        return self._of_place.get(place)


def _namespaces() -> set[int]:
    """The mount namespaces of all processes that the daemon sees."""
    found = set()
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found.add(_namespace(int(pid)))
    return found


def _namespace(tid: int) -> int:
    return os.stat(f"/proc/{tid}/ns/mnt").st_ino
