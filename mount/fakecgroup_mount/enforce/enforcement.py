"""The thread that enforces limits on the processes of a mounted tree."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from fakecgroup import Kernel
from fakecgroup_mount.enforce.looks import SHORTEST
from fakecgroup_mount.enforce.short_slice import ask_for_short_slice
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.tasks import newest_pid

if TYPE_CHECKING:
    from fakecgroup_mount.enforce.holds import Holding
    from fakecgroup_mount.enforce.stall_triggers import StallTriggers

log = Log(__name__)

_AGAIN = 1.0  # seconds until the next attempt after a failure
_SPARING = 50  # times the CPU time of `gather` until the next
_PATIENCE = 1.0  # seconds for the thread to let a process go on
_BEGINNING = 10.0  # seconds for the thread to load what it needs and to look for the first time


class _Limits(Protocol):
    """The limits of one controller. All methods are called by the thread that enforces."""

    @property
    def idle(self) -> bool: ...
    def gather(self) -> None: ...
    def look(self) -> float: ...
    def release(self) -> None: ...


class Enforcement:
    """Enforces the limits of some controllers in a thread of its own. `lock` is the model's lock.

    `listen` gets what is to be called before requests, and after those that change the tree
    (`Session.before_requests`). `spared` are never touched, as the daemon and its children.
    """

    def __init__(
        self,
        kernel: Kernel,
        processes: HostProcesses,
        lock: threading.Lock,
        listen: Callable[[Callable[[], None], Callable[[], None]], None],
        spared: frozenset[int] = frozenset(),
    ) -> None:
        self.names: frozenset[str] = frozenset()
        """The controllers whose limits are enforced."""
        self._kernel = kernel
        self._processes = processes
        self._lock = lock
        self._listen = listen
        self._spared = spared
        self._limits: dict[str, _Limits] = {}  # those that the thread has begun to enforce
        self._holding: Holding | None = None
        self._triggers: StallTriggers | None = None
        self._debugged: list[tuple[int, threading.Event]] = []  # who is to be let go for a debugger
        self._stirred = True
        self._acting: frozenset[str] = frozenset()  # those whose limits it has looked at
        self._changed = threading.Condition()
        self._ending = False
        self._newest = 0
        self._thread: threading.Thread | None = None

    def enforce(self, names: frozenset[str]) -> None:
        """Enforces the limits of these controllers from now on, and lets go on whoever is held for others.

        Does not wait for it, `settle` does. The caller holds the model's lock. Raises RuntimeError if no thread can be
        started.
        """
        if names and self._thread is None:
            thread = threading.Thread(target=self._enforce, daemon=True)
            thread.start()
            self._thread = thread
            self._listen(lambda: None, self.stir)
        self.names = names
        self.stir()

    def settle(self) -> None:
        """Waits until the limits of `names` act, and no others. The caller holds no lock."""
        with self._changed:
            self._changed.wait_for(lambda: self._acting == self.names, _BEGINNING)

    def stir(self) -> None:
        """Notes that limits or cgroups may have changed. Does not wait."""
        with self._changed:
            self._stirred = True
            self._changed.notify_all()

    def let_go_for_debugger(self, tgid: int) -> None:
        """Lets a process go on that is about to be traced by another, and does not hold it for a while. Waits for it.

        The caller holds no lock.
        """
        done = threading.Event()
        with self._changed:
            if self._holding is None:
                return
            self._debugged.append((tgid, done))
            self._changed.notify_all()
        done.wait(_PATIENCE)

    def end(self) -> None:
        """Ends the thread, and lets everybody go on. The caller holds no lock."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _enforce(self) -> None:
        ask_for_short_slice()
        earliest = 0.0  # of the next `gather`
        while True:
            left = _AGAIN
            try:
                if self._begin_and_end():
                    earliest = 0.0
                now = time.monotonic()
                if self._limits and now >= earliest and self._has_changed():
                    began = time.thread_time()
                    with self._lock:
                        for limits in self._limits.values():
                            limits.gather()
                    if self._acting == self._limits.keys():  # the first takes longer
                        earliest = time.monotonic() + max(SHORTEST, _SPARING * (time.thread_time() - began))
                self._let_debugged_go()
                left = min((limits.look() for limits in self._limits.values()), default=_AGAIN)
                left = min(left, self._look_at_triggers())
                self._now_acting(frozenset(self._limits))
            except Exception:
                log.exception("limits are not enforced for a moment")
                self._release(self._limits.values())
                earliest = time.monotonic() + _AGAIN
                self.stir()
            with self._changed:
                if not (self._ending or self._debugged or self.names != self._limits.keys()):
                    self._changed.wait(self._pause(left, earliest))
                if not self._ending:
                    continue
            self._release(self._limits.values())
            return

    def _pause(self, left: float, earliest: float) -> float:
        """Seconds until the thread goes on, if it has to look again after `left` and gathers at the `earliest`."""
        if not self._limits:
            return threading.TIMEOUT_MAX
        if self._stirred:
            left = min(left, max(0.0, earliest - time.monotonic()))
        elif self._idle:
            left = _AGAIN
        return max(left, SHORTEST / 4)

    def _now_acting(self, names: frozenset[str]) -> None:
        if names != self._acting:
            with self._changed:
                self._acting = names
                self._changed.notify_all()

    def _begin_and_end(self) -> bool:
        """Begins with the controllers that are in `names` now, and ends with those that are not. True if it began."""
        names = self.names
        begun = names - self._limits.keys()
        for name in begun:
            self._limits[name] = self._begin(name)
        ended = [self._limits.pop(name) for name in self._limits.keys() - names]
        self._release(ended)
        return bool(begun)

    def _begin(self, name: str) -> _Limits:
        from fakecgroup_mount.enforce.cpu_limits import CpuLimits  # these take a while to load
        from fakecgroup_mount.enforce.cpuset_limits import CpusetLimits
        from fakecgroup_mount.enforce.holds import Holding
        from fakecgroup_mount.enforce.memory_limits import MemoryLimits
        from fakecgroup_mount.enforce.stall_triggers import StallTriggers

        self._triggers = self._triggers or StallTriggers(self._kernel)
        self._holding = self._holding or Holding(self._processes, self._lock)
        if name == "memory":
            return MemoryLimits(self._kernel, self._processes, self._holding, self._lock, self._spared)
        if name == "cpuset":
            return CpusetLimits(self._kernel, self._processes, self._lock, self._spared)
        return CpuLimits(self._kernel, self._holding, self._lock, self._spared)

    def _let_debugged_go(self) -> None:
        with self._changed:
            debugged, self._debugged = self._debugged, []
        if self._holding is None or not debugged:
            return
        with self._holding.guard:
            for tgid, _ in debugged:
                self._holding.spare(tgid)
        if self._holding.settle():
            for _, done in debugged:
                done.set()
        else:  # some have not stopped yet
            with self._changed:
                self._debugged += debugged

    def _look_at_triggers(self) -> float:
        """Wakes who polls for stalls. Returns the seconds until it has to look again."""
        if self._triggers is None or self._triggers.none:
            return _AGAIN
        with self._lock:
            return self._triggers.look()

    @property
    def _idle(self) -> bool:
        return all(limits.idle for limits in self._limits.values())

    def _release(self, limits: Collection[_Limits]) -> None:
        if limits:
            with self._lock:
                for one in limits:
                    one.release()

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
) -> Iterator[Enforcement]:
    """Enforces the limits of these controllers meanwhile, from its beginning on. The arguments are `Enforcement`'s."""
    enforcement = Enforcement(kernel, processes, lock, listen, spared)
    with lock:
        enforcement.enforce(names)
    try:
        enforcement.settle()
        yield enforcement
    finally:
        enforcement.end()
