"""What a process has in memory, as /proc tells it, without pages of files, which reclaim could drop."""

from __future__ import annotations

import os
import re

from fakecgroup.named_tuple import NamedTuple
from fakecgroup.simulation.oom_killer import Candidate
from fakecgroup_mount.enforce.shared_mappings import shares_of
from fakecgroup_mount.host.usage import image_of, stat_of, text_of

_KIB = 1024
_LITTLE = 128 * _KIB  # shared memory, for which no second look at all that is mapped is worth its time
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PARENT = 1  # in what `stat_of` gives
_STATUS = re.compile(rb"^(VmRSS|VmSwap|VmPTE|RssShmem):\s+(\d+)", re.M)
_ROLLUP = re.compile(rb"^(Pss_Anon|Pss_Shmem|Anonymous|AnonHugePages|LazyFree|Swap):\s+(\d+)", re.M)


class Resident(NamedTuple):
    """Bytes of one process by the kernel's quick counts, which count shared pages for each: `anon` is anonymous,
    `shmem` in shared memory, `mapped` in that and in files.
    """

    anon: int
    shmem: int
    mapped: int


class Footprint(NamedTuple):
    """Bytes of one process at a precise look.

    `anon` is what it maps, `share` its part of that where pages are shared among processes. Both are without pages that
    it has given up (MADV_FREE). `huge` is whether some of that are huge pages. `shmem` is its part of shared memory,
    `shared` what of that is in which anonymous mapping (`shares_of`), if it is not little. `swap` is what the machine
    has moved out. `image` changes with execve(2).
    """

    anon: int
    share: int
    swap: int
    parent: int
    image: object
    shmem: int = 0
    shared: tuple[tuple[int, int], ...] = ()
    huge: bool = False

    def lesser(self, other: Footprint) -> Footprint:
        """What is certain by two looks at a process, of which `other` is the later one.

        Between a look at a process and one at another that shares pages with it, one of them may have gone, or have
        begun to map them: the pages would count for both.
        """
        again = dict(other.shared)
        shared = tuple((ino, min(share, again[ino])) for ino, share in self.shared if ino in again)
        return other._replace(
            anon=min(self.anon, other.anon),
            share=min(self.share, other.share),
            shmem=min(self.shmem, other.shmem),
            shared=shared,
        )


def resident(tgid: int, last: Resident | None = None) -> Resident:
    """A quick look, which takes some µs; nothing if the process is gone. `last` is what an earlier one has found."""
    fields = text_of(f"/proc/{tgid}/statm").split()
    if not fields:
        return Resident(0, 0, 0)
    mapped = int(fields[2]) * _PAGE
    if last is not None and last.mapped == mapped:
        shmem = last.shmem
    else:
        found = dict(_STATUS.findall(text_of(f"/proc/{tgid}/status")))
        shmem = int(found.get(b"RssShmem", 0)) * _KIB
    return Resident(int(fields[1]) * _PAGE - mapped, shmem, mapped)


def anon_bytes(tgid: int) -> int:
    """Anonymous bytes that a process maps, by the kernel's quick count; 0 if it is gone."""
    fields = text_of(f"/proc/{tgid}/statm").split()
    return (int(fields[1]) - int(fields[2])) * _PAGE if fields else 0


def exact_anon_bytes(tgid: int) -> int | None:
    """Anonymous bytes that a process maps, page by page; None if we may not read it."""
    found = {name: int(kib) * _KIB for name, kib in _ROLLUP.findall(text_of(f"/proc/{tgid}/smaps_rollup"))}
    return max(0, found[b"Anonymous"] - found.get(b"LazyFree", 0)) if b"Anonymous" in found else None


def parent_and_image(tgid: int) -> tuple[int, object]:
    """The parent and the program of a process; 0 and None if it is gone."""
    stat = stat_of(tgid)
    return (int(stat[_PARENT]), image_of(stat)) if stat else (0, None)


def footprint(tgid: int) -> Footprint | None:
    """A precise look, which takes 8 ms for each GiB in small pages; None if it is gone, may not be read, or executes
    another program meanwhile.
    """
    before = stat_of(tgid)
    found = {name: int(kib) * _KIB for name, kib in _ROLLUP.findall(text_of(f"/proc/{tgid}/smaps_rollup"))}
    stat = stat_of(tgid)
    if b"Pss_Anon" not in found or not stat or not before or image_of(before) != image_of(stat):
        return None
    given_up = found.get(b"LazyFree", 0)
    anon, share = (max(0, found.get(name, 0) - given_up) for name in (b"Anonymous", b"Pss_Anon"))
    shmem = found.get(b"Pss_Shmem", 0)
    shared = tuple(shares_of(tgid).items()) if shmem > _LITTLE else ()
    swap, huge = found.get(b"Swap", 0), found.get(b"AnonHugePages", 0) > 0
    return Footprint(anon, share, swap, int(stat[_PARENT]), image_of(stat), shmem, shared, huge)


def candidate(tgid: int) -> Candidate | None:
    """What the OOM killer compares, in pages; None for a process that is gone."""
    found = {name: int(kib) * _KIB // _PAGE for name, kib in _STATUS.findall(text_of(f"/proc/{tgid}/status"))}
    adj = text_of(f"/proc/{tgid}/oom_score_adj")
    if b"VmRSS" not in found or not adj:
        return None
    return Candidate(found[b"VmRSS"], found.get(b"VmSwap", 0), found.get(b"VmPTE", 0), int(adj))
