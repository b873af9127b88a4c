"""Delays events on a file that come too soon after its last one (cgroup_file_notify)."""

from __future__ import annotations

import threading
import time
from heapq import heappop, heappush
from itertools import count

from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup_mount.host.log import Log

log = Log(__name__)

_S = 1_000_000_000  # ns


class DelayedNotifier:
    """Calls `Cgroup.notify_now` when a delayed event is due.

    A thread of its own does this, started with the first delayed event. `lock` is the model's lock.
    """

    def __init__(self, lock: threading.Lock) -> None:
        self._changed = threading.Condition(lock)
        self._waiting: list[tuple[int, int, CgroupFile]] = []  # a heap, by due time (ns, monotonic)
        self._order = count()
        self._thread: threading.Thread | None = None

    def add(self, file: CgroupFile, wait: int) -> None:
        """Delays an event on this file by `wait` ns. The caller holds the lock."""
        heappush(self._waiting, (time.monotonic_ns() + wait, next(self._order), file))
        if self._thread is None:
            thread = threading.Thread(target=self._tell, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no thread can be started: the event is not delayed
                self._waiting.clear()
                file.cgroup.notify_now(file)
                return
            self._thread = thread
        self._changed.notify()

    def _tell(self) -> None:
        with self._changed:
            while True:
                left = self._waiting[0][0] - time.monotonic_ns() if self._waiting else None
                if left is None or left > 0:
                    self._changed.wait(None if left is None else left / _S)
                else:
                    file = heappop(self._waiting)[2]
                    try:
                        file.cgroup.notify_now(file)
                    except Exception:
                        log.exception("an event on %s", file.row.name)
