"""Where a list of tasks goes on that is read in pieces (the kernel's css_task_iter)."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .css_sets import CssSet
    from .tid import Tid

    Listed = tuple[CssSet, Tid]


class TaskIterator:
    """A walk through a list that changes on the way.

    A task is taken when the one before it is shown, and is shown even if it has left since (css_task_iter_next). Behind
    it, the walk goes on at the first task that has not left its set meanwhile (css_task_iter_skip). So who comes is
    seen as long as somebody is left who was there before, and the end stays the end.
    """

    __slots__ = ("_rest", "taken")

    taken: Tid | None  # is shown next; 0 if it has gone since, None at the end

    def __init__(self, tasks: Sequence[Listed]) -> None:
        self._rest = deque(tasks)
        self._take()

    def go_on_in(self, tasks: Sequence[Listed]) -> None:
        """Goes on in the list as it is now."""
        left = set(self._rest)
        reached = next((at for at, task in enumerate(tasks) if task in left), len(tasks))
        self._rest = deque(islice(tasks, reached, None))

    def __iter__(self) -> Iterator[Tid]:
        """The tasks that are still to be shown."""
        while (tid := self.taken) is not None:
            self._take()
            yield tid

    def _take(self) -> None:
        self.taken = self._rest.popleft()[1] if self._rest else None
