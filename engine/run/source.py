"""Where ``run`` has its pods from: something that can be waited for and looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.pod import Pod


@dataclass(frozen=True)
class Seen:
    """What a source shows. ``complaints``: one line each, of what could not be used, told once and not each time."""

    pods: tuple[Pod, ...]
    complaints: tuple[str, ...] = ()


class PodSource(Protocol):
    """Pods that come and go. What strangers wrote or answered never raises here; it becomes a complaint."""

    def fileno(self) -> int:
        """Readable when the pods may have changed; ``look`` makes it quiet again."""

    def look(self) -> Seen | None:
        """The pods in force now; None as long as they have not been seen completely once, so that none may go."""

    def close(self) -> None:
        """Ends what the source keeps open; no call after this one."""
