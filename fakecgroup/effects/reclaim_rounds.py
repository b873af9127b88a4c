"""How much one round of reclaim for a limit frees, and so how many a process needs (mm/vmscan.c). Amounts are pages."""

from __future__ import annotations

SWAP_CLUSTER_MAX = 32
"""What a round looks for."""

_GENERATIONS_SINCE = (6, 12)  # Debian's kernels sort pages by generations (lru_gen)
_LEAST_BATCH = {(6, 12): 64, (7, 2): 32}  # that is taken of a generation, since which kernel (seen)
_DEF_PRIORITY = 12
_BLOCK = 8  # bits: while a list shrinks by a 256th, rounds are taken to be alike


def rounds_of_reclaim(
    version: tuple[int, int], *, swapped: int = 0, dropped: int = 0, listed: int = 0, refilled: bool = False
) -> int:
    """Rounds in which so much was swapped out, and so much page cache dropped of a list of so many clean pages.

    `refilled`: new page cache takes the place of what is dropped.
    """
    if version >= _GENERATIONS_SINCE:
        size = _LEAST_BATCH[max(since for since in _LEAST_BATCH if version >= since)]
        return -(-(swapped + dropped) // size)
    count = -(-swapped // SWAP_CLUSTER_MAX)
    if refilled:
        return count - (-dropped // _taken(listed))
    while dropped > 0:
        size = _taken(listed)
        alike = max(1, min((listed >> _BLOCK) // size, dropped // size))
        count += alike
        dropped -= alike * size
        listed -= alike * size
    return count


def _taken(listed: int) -> int:
    """What a round takes of a list: a part, and twice as large a part, until it has enough (get_scan_count)."""
    taken = 0
    for priority in range(_DEF_PRIORITY, -1, -1):
        taken += min(listed >> priority, SWAP_CLUSTER_MAX)
        if taken >= SWAP_CLUSTER_MAX:
            return taken
    return SWAP_CLUSTER_MAX
