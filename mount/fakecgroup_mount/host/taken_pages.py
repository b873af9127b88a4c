"""Pages that real processes have, and would not have on a kernel that enforces their limits.

Reclaim would have dropped pages of files and moved anonymous and shared ones to swap. What is touched beyond a limit
would not have been given at all. Which pages that are is not known: a process that frees some is taken to free those
last.
"""

from __future__ import annotations

from fakecgroup import ProcessMemory


class Taken:
    """Bytes of one process, by what became of them; `image` is the program that had them."""

    __slots__ = ("dropped", "image", "refused", "swapped")

    def __init__(self, image: object) -> None:
        self.image = image
        self.swapped = 0  # of anonymous memory, then of shared: in swap
        self.dropped = 0  # of files
        self.refused = 0  # likewise: never given


class TakenPages:
    """What was taken from processes, by pid."""

    def __init__(self) -> None:
        self._taken: dict[int, Taken] = {}

    def __bool__(self) -> bool:
        return bool(self._taken)

    def of(self, tgid: int) -> Taken | None:
        """What was taken from a process; None for nothing."""
        return self._taken.get(tgid)

    def take(self, tgid: int, image: object, *, swapped: int = 0, dropped: int = 0, refused: int = 0) -> None:
        """Takes bytes from a process that runs this program."""
        taken = self._taken.get(tgid)
        if taken is None or taken.image != image:
            taken = self._taken[tgid] = Taken(image)
        taken.swapped += swapped
        taken.dropped += dropped
        taken.refused += refused

    def give(self, tgid: int) -> None:
        """Gives a process what it was refused."""
        taken = self._taken.get(tgid)
        if taken is not None:
            taken.refused = 0

    def forget(self, tgid: int) -> None:
        """The process is gone."""
        self._taken.pop(tgid, None)

    def left(self, tgid: int, memory: ProcessMemory) -> ProcessMemory:
        """The memory of a process without what was taken. Another program has lost nothing yet."""
        taken = self._taken.get(tgid)
        if taken is None:
            return memory
        if taken.image != memory.image:
            self.forget(tgid)
            return memory
        use = memory.use
        taken.refused = min(taken.refused, use.anon + use.shmem)
        taken.swapped = min(taken.swapped, use.anon + use.shmem - taken.refused)
        taken.dropped = min(taken.dropped, use.file)
        gone = taken.refused + taken.swapped
        anon, shmem = max(0, use.anon - gone), use.shmem - max(0, gone - use.anon)
        file = use.file - taken.dropped
        use = use._replace(
            anon=anon,
            file=file,
            shmem=shmem,
            swap=taken.swapped,
            huge=min(use.huge, anon),
            locked=min(use.locked, anon + file + shmem),
        )
        return memory._replace(use=use)
