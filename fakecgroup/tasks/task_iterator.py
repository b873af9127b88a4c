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

    __slots__ = ("_begun", "_rest", "taken")

    taken: Tid | None  # is shown next; 0 if it has gone since

    def __init__(self) -> None:
        self.taken = None
        self._begun = False
        self._rest: deque[Listed] = deque()

    @property
    def ended(self) -> bool:
        return self._begun and self.taken is None

    def go_on(self, tasks: Sequence[Listed]) -> Iterator[Tid]:
        """The tasks that are still to be shown, of the list as it is now."""
        if self._begun:
            left = set(self._rest)
            reached = next((at for at, task in enumerate(tasks) if task in left), len(tasks))
            self._rest = deque(islice(tasks, reached, None))
        else:
            self._begun = True
            self._rest = deque(tasks)
            self._take()
        while (tid := self.taken) is not None:
            self._take()
            yield tid

    def _take(self) -> None:
        self.taken = self._rest.popleft()[1] if self._rest else None
