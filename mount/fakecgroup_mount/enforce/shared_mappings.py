"""Memory that processes share by mmap(2) with MAP_SHARED and no file: to whom it is certainly charged.

A kernel charges such a page to the cgroup of the process that touches it first, and leaves it there while anybody maps
the memory. Only fork(2) passes the mapping on. So all is charged where its processes are, unless one of them was moved
while it had it, or has made a child elsewhere: then the mapping is in doubt, here and for all who share it.

Files in memory, such as those of memfd_create(2), tmpfs and shmget(2), can be given to anybody and written to without a
mapping: who was charged for them is never known.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Mapping
from functools import cache

from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.usage import whole_text_of

log = Log(__name__)

_KIB = 1024
_MOST = 10_000  # mappings in doubt
_NAME = rb"/dev/zero \(deleted\)"  # shmem_zero_setup, mm/shmem.c
_LINE = rb"^[0-9a-f]+-[0-9a-f]+ ...s [0-9a-f]+ (\S+) (\d+)\s+" + _NAME + rb"\n"
_MAPPING = re.compile(_LINE, re.M)
_PSS = re.compile(_LINE + rb"(?:[A-Z].*\n)*?Pss:\s+(\d+)", re.M)


def mappings_of(tgid: int) -> set[int] | None:
    """The numbers of the anonymous shared mappings of a process; None if we may not read them."""
    text = whole_text_of(f"/proc/{tgid}/maps")
    return None if text is None else {int(ino) for device, ino in _MAPPING.findall(text) if device == _device()}


def shares_of(tgid: int) -> dict[int, int]:
    """The bytes of a process in its anonymous shared mappings, by their numbers; divided among those who map a page."""
    found: dict[int, int] = {}
    for device, ino, kib in _PSS.findall(whole_text_of(f"/proc/{tgid}/smaps") or b""):
        if device == _device():
            found[int(ino)] = found.get(int(ino), 0) + int(kib) * _KIB
    return found


@cache
def _device() -> bytes:
    """The device that is shown for the kernel's own files in memory: other files may have that name as well."""
    with mmap.mmap(-1, mmap.PAGESIZE):
        found = _MAPPING.search(whole_text_of("/proc/self/maps") or b"")
    return found[1] if found else b""


class SharedMappings:
    """Which anonymous shared mappings are in doubt."""

    def __init__(self) -> None:
        self._in_doubt: set[int] = set()
        self._all = False  # they are all in doubt

    def doubt(self, tgids: Iterable[int]) -> None:
        """What these processes map now may be charged to another cgroup than that in which they are from now on."""
        if self._all:
            return
        for tgid in tgids:
            found = mappings_of(tgid)
            if found is None or len(self._in_doubt) > _MOST:
                log.warning("shared memory counts for no limit from now on: it is not known what process %d maps", tgid)
                self._all = True
                return
            self._in_doubt |= found

    def certain(self, shares: Mapping[int, int]) -> int:
        """Bytes of `shares_of` that are certainly charged where the process is."""
        return 0 if self._all else sum(share for ino, share in shares.items() if ino not in self._in_doubt)
