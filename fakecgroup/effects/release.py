"""What victims of the OOM killer still hold when the killer looks past them to the next process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

GATHERED = 8 + 19 * 510
"""Pages that are unmapped before they are released together (MMU_GATHER_BUNDLE, MAX_GATHER_BATCH_COUNT, asm/tlb.h)."""

#: Since which kernel it looks past a victim how early: of how many victims at a time, and what is left of its pages.
_LEFT: tuple[tuple[tuple[int, int], int, Callable[[int], int]], ...] = (
    # css_task_iter_advance hides a process that exits, before exit_mmap has released anything. The next one that is
    # killed exits beside it; a booted kernel with two CPUs had one to four who had released nothing, mostly two
    ((7, 2), 2, lambda pages: pages),
    # exit_mmap sets MMF_OOM_SKIP between the last unmapping and the last release
    ((6, 1), 1, lambda pages: pages % GATHERED),
    # exit_mmap releases all, then sets MMF_OOM_SKIP
    ((0, 0), 0, lambda pages: 0),
)


def left_by_victims(pages: Sequence[int], version: tuple[int, int]) -> int:
    """How many anonymous pages victims hold when the next may be chosen (oom_evaluate_task, exit_mmap).

    `pages` says what each had when it was killed, the last one last. What is over a lowered memory.max then counts with
    what is left of these: another process is killed. Booted 6.1, 6.12 and 7.2 do so if they have the time to look,
    before the victims have had the time to release the rest.
    """
    victims, left = next((victims, left) for since, victims, left in _LEFT if version >= since)
    return sum(map(left, pages[max(0, len(pages) - victims) :]))
