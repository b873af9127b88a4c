"""Replies that are sent later than they are known, as the rules of faults say."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from fakecgroup_mount.host.log import Log

log = Log(__name__)

_S = 1_000_000_000  # ns


class LateReplies:
    """Calls `send` with each reply when it is due, in a thread of its own that starts with the first."""

    def __init__(self, send: Callable[[bytes], object]) -> None:
        self._send = send
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, bytes]] = []  # a heap, by due time (ns, monotonic)
        self._order = count()
        self._thread: threading.Thread | None = None

    def add(self, reply: bytes, wait: int) -> None:
        """Sends a reply in `wait` ns; at once where no thread can be started."""
        if self._thread is None:
            thread = threading.Thread(target=self._serve, daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self._deliver(reply)
                return
            self._thread = thread
        with self._changed:
            heappush(self._waiting, (time.monotonic_ns() + wait, next(self._order), reply))
            self._changed.notify()

    def _serve(self) -> None:
        while True:
            with self._changed:
                left = self._waiting[0][0] - time.monotonic_ns() if self._waiting else None
                if left is None or left > 0:
                    self._changed.wait(None if left is None else left / _S)
                    continue
                reply = heappop(self._waiting)[2]
            self._deliver(reply)

    def _deliver(self, reply: bytes) -> None:
        try:
            self._send(reply)
        except OSError:
            pass  # nobody waits for it any more: a signal, or the tree is unmounted
        except Exception:
            log.exception("a late reply")
