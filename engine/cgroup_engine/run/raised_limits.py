"""Memory limits that somebody else raised beside this engine, and that are not lowered for a while.

A kubelet writes the limits of a resized pod before the API server tells of its allocation, and it may know a spec
before this engine does. Memory that was taken under the higher limit would be lost: the kernel kills a process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from cgroup_engine.run.drift import A_CGROUP
from cgroup_engine.run.events import Drift
from cgroup_engine.tree.knobs import KNOBS

_SIZES = {
    file: knob.size for knobs in KNOBS.values() for knob in knobs if knob.field == "memory" for file in knob.files
}
_SIZES["memory.memsw.limit_in_bytes"] = _SIZES["memory.limit_in_bytes"]


class RaisedLimits:
    """Remembers since when a limit is raised. ``grace``: seconds that it stays."""

    def __init__(self, grace: float, clock: Callable[[], float]) -> None:
        self._grace = grace
        self._clock = clock
        self._since: dict[str, float] = {}

    def due(self) -> float | None:
        """The time when the next one may be lowered, by the clock; None if none waits."""
        now = self._clock()
        return min((since + self._grace for since in self._since.values() if since + self._grace > now), default=None)

    def staying(self, drift: Iterable[Drift]) -> Collection[str]:
        """The paths of those limits that are not lowered now. ``drift``: all that there is now."""
        now = self._clock()
        self._since = {one.path: self._since.get(one.path, now) for one in drift if _raised(one)}
        return {path for path, since in self._since.items() if now < since + self._grace}


def _raised(one: Drift) -> bool:
    size = _SIZES.get(one.path.rpartition("/")[2])
    return size is not None and one.found != A_CGROUP and size((one.found,)) > size((one.wanted,))
