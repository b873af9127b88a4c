"""The loop of ``run``: waits for pods, time, writes of others and signals, and then has the tree reconciled."""

from __future__ import annotations

import math
import selectors
import time

from cgroup_engine.errors import EngineError
from cgroup_engine.run.backoff import BackOff
from cgroup_engine.run.events import Complaint, Listener, Reason, Stopping, Waiting
from cgroup_engine.run.foreign_writes import ForeignWrites
from cgroup_engine.run.keeper import Keeper
from cgroup_engine.run.signals import Ended, Signals
from cgroup_engine.sources.source import PodSource, Seen

#: Seconds to collect what belongs together: the pods of one change, the writes of one process.
_TOGETHER = {"pods": 0.075, "drift": 0.05}
#: After a reconcile, writes of others cause none for twice its duration: at most a third of the time goes there.
_REST = 2.0
_MOST_CHANGES = 10_000
_REASONS: tuple[Reason, ...] = ("start", "reload", "pods", "drift", "retry", "interval")


class Loop:
    """Has a keeper reconcile its tree when something happens, and tells a listener.

    ``interval``: seconds between two reconciles if nothing happens.

    ``foreign_writes``: writes of others; None if the kernel does not tell, and they are found after the interval then.
    """

    def __init__(
        self,
        keeper: Keeper,
        source: PodSource,
        listener: Listener,
        signals: Signals,
        interval: float,
        foreign_writes: ForeignWrites | None = None,
    ) -> None:
        self._keeper = keeper
        self._source = source
        self._listener = listener
        self._signals = signals
        self._foreign_writes = foreign_writes
        self._by: dict[str, str] = {}
        self._rested = 0.0
        self._muted_until = math.inf
        self._interval = interval
        self._due: dict[Reason, float] = {"start": time.monotonic()}
        self._seen = Seen(None)
        self._unusable = BackOff(interval, time.monotonic)
        self._complaint = ""

    def run(self) -> None:
        """Runs until a signal ends it. An exception from here is a bug."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._signals, selectors.EVENT_READ)
            selector.register(self._source, selectors.EVENT_READ)
            if self._foreign_writes is not None:
                selector.register(self._foreign_writes, selectors.EVENT_READ)
            try:
                while not self._signals.ending:
                    self._turn(selector)
            except Ended:
                pass
        self._listener.hear(Stopping(self._signals.ending))

    def _turn(self, selector: selectors.BaseSelector) -> None:
        now = time.monotonic()
        reason = next((reason for reason in _REASONS if self._due.get(reason, now + 1) <= now), None)
        if reason is not None:
            if "pods" in self._due or reason == "start":
                _follow(selector, self._source, True)
            self._act(reason)
        if self._muted_until <= now and self._foreign_writes is not None:
            _follow(selector, self._foreign_writes, True)
            self._muted_until = math.inf
        timeout = max(0.0, min([*self._due.values(), self._muted_until]) - time.monotonic())
        self._listener.hear(Waiting(timeout))
        for key, _ in selector.select(timeout):
            if key.fileobj is self._source:
                _follow(selector, self._source, False)  # it stays readable until the next look
                self._due.setdefault("pods", time.monotonic() + _TOGETHER["pods"])
            elif key.fileobj is self._signals:
                self._signals.quiet()
            elif self._foreign_writes is not None:
                _follow(selector, self._foreign_writes, False)  # constant writes shall not wake the loop each time
                self._muted_until = time.monotonic() + _TOGETHER["drift"]
                if self._keeper.concerned(self._listen()):
                    self._due.setdefault("drift", max(self._muted_until, self._rested))
        if self._signals.hangup:
            self._signals.hangup = False
            self._due["reload"] = 0.0

    def _listen(self) -> dict[str, str]:
        """Remembers who wrote where until the next reconcile; returns the new writes."""
        if self._foreign_writes is None:
            return {}
        changes = self._foreign_writes.read()
        if len(self._by) > _MOST_CHANGES:
            self._by = {}
        self._by.update(changes)
        return changes

    def _act(self, reason: Reason) -> None:
        seen = self._source.look()
        for text in seen.complaints:
            self._listener.hear(Complaint(text, "pods"))
        same = (seen.pods, seen.complete) == (self._seen.pods, self._seen.complete)
        self._due.pop("pods", None)
        self._seen = seen
        if reason == "pods" and same:
            return
        retry = self._reconcile(reason) if seen.pods is not None else None
        self._due = {"interval": time.monotonic() + self._interval}
        if retry is not None:
            self._due["retry"] = retry

    def _reconcile(self, reason: Reason) -> float | None:
        """Reconciles once; returns the time of the next attempt, None if there is none."""
        self._listen()
        by, self._by = self._by, {}
        started = time.monotonic()
        try:
            done, complaints = self._keeper.reconcile(reason, self._seen, by)
        except (EngineError, OSError) as failed:
            if str(failed) != self._complaint:
                self._complaint = str(failed)
                self._listener.hear(Complaint(f"{failed}; tried again, and the tree stays as it is", "root"))
            return time.monotonic() + self._unusable.back_off("", "")
        finally:
            now = time.monotonic()
            self._rested = now + _REST * (now - started)
        self._complaint = ""
        self._unusable.keep_only(())
        self._listener.hear(done)
        for complaint in complaints:
            self._listener.hear(complaint)
        return self._keeper.next_try()


def _follow(selector: selectors.BaseSelector, readable: PodSource | ForeignWrites, following: bool) -> None:
    if following != (readable in selector.get_map()):
        if following:
            selector.register(readable, selectors.EVENT_READ)
        else:
            selector.unregister(readable)
