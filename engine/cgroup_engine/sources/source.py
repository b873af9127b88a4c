"""A source of pods: it can be waited for, and then looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cgroup_engine.model.pod import Pod


@dataclass(frozen=True)
class Seen:
    """The pods of a source at one moment.

    ``pods``: those in force. None until the source has been read completely once; no pod's cgroup may be removed
    until then. ``complaints``: a line for each thing that cannot be used, and for each pod whose resize is not
    allocated, told once. ``complete``: False while a file or object that may hold pods has never been readable. It may
    hold a pod of an earlier run, so only cgroups of pods that this source has shown may be removed meanwhile.
    """

    pods: tuple[Pod, ...] | None
    complaints: tuple[str, ...] = ()
    complete: bool = True


class PodSource(Protocol):
    """Pods that come and go. Bad input raises nothing here; it becomes a complaint."""

    def fileno(self) -> int:
        """Readable when there may be something new to see; ``look`` makes it quiet again."""

    def look(self) -> Seen:
        """The pods in force now, and the complaints since the last look."""

    def close(self) -> None:
        """Closes what the source keeps open. It is the last call."""
