"""The pids controller (kernel/cgroup/pids.c): the same state and nearly the same files on both versions."""

from __future__ import annotations

from collections.abc import Callable
from errno import EAGAIN, EINVAL

from ..core.cftype import CFType, Where, shown_number
from ..core.css import Controller, Css
from ..parse import kstrtos64, strstrip
from ..refuse import refuse

PIDS_LIMIT = 4194304  # PID_MAX_LIMIT on 64 bits
_MAX = PIDS_LIMIT + 1  # "max"


class Pids(Css):
    """`current` and `limit` are tasks, here and below, zombies included.

    `coming` tasks of real processes are being forked: they take room, and count in `current` once they are seen.
    """

    limit: int = _MAX
    current: int = 0
    coming: int = 0
    watermark: int = 0
    events: int = 0  # refused forks, as pids.events counts them
    events_local: int = 0

    @property
    def has_room(self) -> bool:
        """True if one more task is within its own limit."""
        return self.current + self.coming < self.limit

    def limited(self) -> tuple[Pids, ...]:
        """Those of this css and its ancestors that have a limit."""
        css: Css | None = self
        found: tuple[Pids, ...] = ()
        while isinstance(css, Pids):
            if css.limit != _MAX:
                found = (*found, css)
            css = css.parent
        return found

    def charge_task(self, count: int) -> None:
        css: Css | None = self
        while isinstance(css, Pids):
            css.adopt_tasks(count)
            css = css.parent

    def adopt_tasks(self, count: int) -> None:
        if count:
            self.current += count
            self.watermark = max(self.watermark, self.current)

    def can_fork(self) -> None:
        """Check the limits of this css and its ancestors (pids_can_fork). Raises EAGAIN."""
        css: Css | None = self
        while isinstance(css, Pids):
            if not css.has_room:
                self._refused_by(css)
                raise refuse(EAGAIN)
            css.watermark = max(css.watermark, css.current + 1)
            css = css.parent

    def _refused_by(self, over: Pids) -> None:
        """Count a refused fork: up to 6.1 and on v1 in the group that forked, later in the limit's group and above."""
        if not (self.on_dfl and self.kernel.at_least(6, 12)):
            self.events += 1
            if self.kernel.version != (6, 18):  # 6.18 wakes no poller on v1
                self.cgroup.notify("pids.events")
            return
        over.events_local += 1
        over.cgroup.notify("pids.events.local")
        css: Css | None = over
        while isinstance(css, Pids):
            css.events += 1
            css.cgroup.notify("pids.events")
            css = css.parent


def show_max(css: Pids) -> str:
    return "max\n" if css.limit == _MAX else f"{css.limit}\n"


def write_max(css: Pids, text: str) -> None:
    """Take `max` or 0..4194304 (pids_max_write). Raises EINVAL, ERANGE from 2^63 on."""
    text = strstrip(text)
    if text == "max":
        css.limit = _MAX
        return
    value = kstrtos64(text)
    if not 0 <= value <= PIDS_LIMIT:
        raise refuse(EINVAL)
    css.limit = value
    css.cgroup.hierarchy.membership.limits_tasks = True


def read_current(css: Pids) -> int:
    css.cgroup.hierarchy.prune(css.cgroup, *css.cgroup.descendants())
    return css.current


def read_peak(css: Pids) -> int:
    css.cgroup.hierarchy.prune(css.cgroup, *css.cgroup.descendants())
    return css.watermark


def show_events(css: Pids) -> str:
    return f"max {css.events}\n"


def show_events_local(css: Pids) -> str:
    return f"max {css.events_local}\n"


def _recall(attribute: str) -> Callable[[Pids, str], None]:
    """The setter of a number of tasks."""
    return lambda css, text: setattr(css, attribute, shown_number(text))


_FILES = (
    CFType("pids.max", Where.CHILD, show=show_max, write=write_max),
    CFType("pids.current", Where.CHILD, read_s64=read_current, recall=_recall("current"), counts=True),
    CFType("pids.peak", Where.CHILD, since=(6, 1), read_s64=read_peak, recall=_recall("watermark"), counts=True),
    CFType("pids.events", Where.CHILD, show=show_events, counts=True),
)

PIDS = Controller(
    "pids",
    Pids,
    dfl=(*_FILES, CFType("pids.events.local", Where.CHILD, since=(6, 12), show=show_events_local, counts=True)),
    legacy=_FILES,
    threaded=True,
)
