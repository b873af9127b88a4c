"""What a victim of the OOM killer still holds when the killer looks past it to the next process."""

from __future__ import annotations

from collections.abc import Callable

GATHERED = 8 + 19 * 510
"""Pages that are unmapped before they are released together (MMU_GATHER_BUNDLE, MAX_GATHER_BATCH_COUNT, asm/tlb.h)."""

#: Since which kernel it looks past a victim how early, as a function of the victim's pages: what is left of them.
_LEFT: tuple[tuple[tuple[int, int], Callable[[int], int]], ...] = (
    # css_task_iter_advance hides a process that exits, before exit_mmap has released anything
    ((7, 2), lambda pages: pages),
    # exit_mmap sets MMF_OOM_SKIP between the last unmapping and the last release
    ((6, 1), lambda pages: pages % GATHERED),
    # exit_mmap releases all, then sets MMF_OOM_SKIP
    ((0, 0), lambda pages: 0),
)


def left_by_victim(pages: int, version: tuple[int, int]) -> int:
    """How many of its anonymous pages a victim holds when the next may be chosen (oom_evaluate_task, exit_mmap).

    What is over a lowered memory.max then counts with these: another process is killed. Booted 6.1, 6.12 and 7.2 do so
    if they have the time to look, before the victim has had the time to release the rest.
    """
    return next(left for since, left in _LEFT if version >= since)(pages)
