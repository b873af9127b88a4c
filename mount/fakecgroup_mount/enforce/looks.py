"""When to look at a cgroup's memory again: the sooner, the nearer it is to its limit."""

from __future__ import annotations

from functools import cache

FASTEST = 8 << 30
"""Bytes per second that processes can touch (5 GiB/s in huge pages were seen)."""
FASTEST_OF_ALL = 64 << 30
"""Bytes per second that many threads together cannot touch."""
SHORTEST, LONGEST = 0.002, 0.1
"""Seconds between two looks."""
SPARING = 10
"""Times the CPU time of a precise look until the next one."""


UNSEEN = 256 << 10
"""Bytes that a quick look may miss of a process: its counters are brought up to date seldom (percpu_counter)."""


def margin(limit: int, *, exact: bool) -> int:
    """Bytes over a limit that are let be, for what cannot be seen."""
    return max(0 if exact else UNSEEN, limit >> 8)


@cache
def huge_page() -> int:
    """Bytes of a huge page; 0 if the machine gives none.

    A kernel gives small pages where a huge one would be over the limit (do_huge_pmd_anonymous_page). Here the machine
    gives it. So a process that touches its memory in order may have as much that it has not touched.
    """
    try:
        with open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") as file:
            return int(file.read())
    except OSError:
        return 0


def next_look(room: int) -> float:
    """Seconds until a cgroup with so many bytes of room can be over its limit."""
    return min(max(room / FASTEST, SHORTEST), LONGEST)
