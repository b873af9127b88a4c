"""Where ``run`` has its pods from: something that can be waited for and looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cgroup_engine.model.pod import Pod


@dataclass(frozen=True)
class Seen:
    """What a source shows. ``complaints``: one line each, of what could not be used, told once and not each time.

    ``pods``: those in force now; None as long as they have not been seen completely once, so that none may go.
    ``complete`` is False while something that may hold pods has never been readable: a pod whose cgroup an earlier
    run made may be among them, so only those pods may go that this source has shown before.
    """

    pods: tuple[Pod, ...] | None
    complaints: tuple[str, ...] = ()
    complete: bool = True


class PodSource(Protocol):
    """Pods that come and go. What strangers wrote or answered never raises here; it becomes a complaint."""

    def fileno(self) -> int:
        """Readable when there may be something new to see; ``look`` makes it quiet again."""

    def look(self) -> Seen:
        """The pods in force now, and what there is to complain about since the last look."""

    def close(self) -> None:
        """Ends what the source keeps open; no call after this one."""
