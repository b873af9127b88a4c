"""Is the keeper alive, and has a reconcile succeeded once? For probes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from cgroup_engine.run.events import Complaint, Event, Reconciled, Stopping, Waiting

#: Seconds that a turn of the loop may take, for example to make the cgroups of many pods.
GRACE = 60.0


@dataclass(frozen=True)
class Answer:
    """The answer to a probe; ``why``: one line."""

    ok: bool
    why: str


class Health:
    """Judges by the events it hears. ``clock``: seconds, never going back.

    Other threads ask it, so each attribute is replaced as a whole and never changed in place.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turn = Waiting(0.0)
        self._turned = clock()
        self._ready = Answer(False, "the tree has not been looked at yet")

    def hear(self, event: Event) -> None:
        if isinstance(event, Waiting):
            self._turn = event
        self._turned = self._clock()
        if isinstance(event, Stopping):
            self._ready = Answer(False, f"stopping: {event.signal}")
        elif self._ready.ok:
            return
        elif isinstance(event, Reconciled):
            failed = event.outcome.failed
            why = f"{len(failed)} steps failed, such as {failed[0]}" if failed else ""
            self._ready = Answer(not failed, why or "a look at the tree succeeded")
        elif isinstance(event, Complaint):
            self._ready = Answer(False, event.text)

    def alive(self) -> Answer:
        """Is the loop on time? Its last turn ended within the announced wait plus ``GRACE``."""
        ago = self._clock() - self._turned
        return Answer(ago <= self._turn.timeout + GRACE, f"the last turn of the loop was {ago:.1f} s ago")

    def ready(self) -> Answer:
        """Has a reconcile succeeded once? Later failures are tried again and do not change the answer."""
        return self._ready
