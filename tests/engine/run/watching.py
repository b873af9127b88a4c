"""Waits for a pod source to show something."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any

from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.source import PodSource, Seen

DEADLINE = 20.0  # seconds; only a test that fails takes as long


class Watching:
    """A source with its last Seen and all complaints so far."""

    def __init__(self, source: PodSource) -> None:
        self.source = source
        self.complaints: list[str] = []
        self.seen: Seen = self.look()

    def look(self) -> Seen:
        self.seen = self.source.look()
        self.complaints += self.seen.complaints
        return self.seen

    @property
    def names(self) -> list[str] | None:
        return None if self.seen.pods is None else sorted(pod.name for pod in self.seen.pods)

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods that the source has shown last."""
        assert self.seen.pods is not None
        return self.seen.pods

    def until(self, condition: Callable[[], Any], seconds: float = DEADLINE) -> None:
        """Looks whenever the source can be read, until the condition holds."""
        poll, end = select.poll(), time.monotonic() + seconds
        poll.register(self.source.fileno(), select.POLLIN)
        while not condition():
            left = end - time.monotonic()
            assert left > 0, f"shown: {self.names}, complaints: {self.complaints}"
            if poll.poll(min(left * 1000, 20)):  # the condition may depend on something else
                self.look()

    def until_complaint(self, part: str) -> str:
        self.until(lambda: any(part in text for text in self.complaints))
        return next(text for text in self.complaints if part in text)
