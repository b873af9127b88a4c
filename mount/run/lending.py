"""Processes that have, for the time of one call, the mark of the cgroup that their next child starts in."""

from __future__ import annotations

import threading

from .process import thread_group


class Lending:
    """Whatever else such a process forks would start there too, by another thread or right after: it waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lent: set[int] = set()

    @property
    def any(self) -> bool:
        """Whether there is such a process."""
        return bool(self._lent)

    def begin(self, tgid: int) -> None:
        """The process is about to get a mark; waits for the end of the one that it has."""
        with self._changed:
            self._changed.wait_for(lambda: tgid not in self._lent)
            self._lent.add(tgid)

    def end(self, tgid: int) -> None:
        """The process has its own mark again."""
        with self._changed:
            self._lent.discard(tgid)
            self._changed.notify_all()

    def wait(self, tid: int) -> None:
        """Until the process of a thread has its own mark. Raises OSError: no such thread."""
        if self._lent:
            tgid = thread_group(tid)
            with self._changed:
                self._changed.wait_for(lambda: tgid not in self._lent)
