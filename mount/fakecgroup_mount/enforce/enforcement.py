"""The thread that enforces limits on the processes of a mounted tree."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from fakecgroup import Kernel
from fakecgroup_mount.enforce.looks import SHORTEST
from fakecgroup_mount.enforce.short_slice import ask_for_short_slice
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.tasks import newest_pid

log = logging.getLogger(__name__)

_AGAIN = 1.0  # seconds until the next attempt after a failure
_SPARING = 20  # times the duration of `gather` until the next


class _Limits(Protocol):
    """The limits of one controller."""

    idle: bool

    def gather(self) -> None: ...
    def look(self) -> float: ...
    def release(self) -> None: ...


class Enforcement:
    """Enforces the limits of some controllers in a thread of its own. `lock` is the model's lock."""

    def __init__(
        self,
        names: frozenset[str],
        kernel: Kernel,
        processes: HostProcesses,
        lock: threading.Lock,
        spared: frozenset[int] = frozenset(),
    ) -> None:
        from fakecgroup_mount.enforce.cpu_limits import CpuLimits  # these take a while to load
        from fakecgroup_mount.enforce.memory_limits import MemoryLimits

        self._lock = lock
        self._limits: list[_Limits] = []
        if "memory" in names:
            self._limits.append(MemoryLimits(kernel, processes, lock, spared))
        if "cpu" in names:
            self._limits.append(CpuLimits(kernel, processes, lock, spared))
        self._stirred = True
        self._changed = threading.Condition()
        self._ending = False
        self._newest = 0
        self._thread = threading.Thread(target=self._enforce, daemon=True)
        self._thread.start()

    def stir(self) -> None:
        """Notes that limits or cgroups may have changed. Does not wait."""
        with self._changed:
            self._stirred = True
            self._changed.notify()

    def end(self) -> None:
        """Ends the thread, and lets everybody go on."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join()

    def _enforce(self) -> None:
        ask_for_short_slice()
        earliest = 0.0  # of the next `gather`
        while True:
            now = time.monotonic()
            try:
                if now >= earliest and self._has_changed():
                    with self._lock:
                        for limits in self._limits:
                            limits.gather()
                    took = time.monotonic() - now
                    earliest = now + took + max(SHORTEST, _SPARING * took)
                left = min(limits.look() for limits in self._limits)
            except Exception:
                log.exception("limits are not enforced for a moment")
                self._release()
                left = _AGAIN
            with self._changed:
                if not self._ending:
                    if self._stirred:
                        left = min(left, max(0.0, earliest - time.monotonic()))
                    elif self._idle:
                        left = _AGAIN
                    self._changed.wait(max(left, SHORTEST / 4))
                if not self._ending:
                    continue
            self._release()
            return

    @property
    def _idle(self) -> bool:
        return all(limits.idle for limits in self._limits)

    def _release(self) -> None:
        with self._lock:
            for limits in self._limits:
                limits.release()

    def _has_changed(self) -> bool:
        """Whether there was a request that changes the tree, or a new process, since the last call."""
        newest = 0 if self._idle else newest_pid()
        with self._changed:
            stirred, self._stirred = self._stirred, False
        if newest != self._newest:
            self._newest, stirred = newest, True
        return stirred


@contextmanager
def enforced(
    names: frozenset[str],
    kernel: Kernel,
    processes: HostProcesses,
    lock: threading.Lock,
    listen: Callable[[Callable[[], None], Callable[[], None]], None],
    spared: frozenset[int] = frozenset(),
) -> Iterator[None]:
    """Enforces the limits of these controllers meanwhile.

    `listen` gets what is to be called before requests, and after those that change the tree
    (`Session.before_requests`).
    """
    if not names:
        yield
        return
    enforcement = Enforcement(names, kernel, processes, lock, spared)
    with lock:
        listen(lambda: None, enforcement.stir)
    try:
        yield
    finally:
        enforcement.end()
