"""pids.max and the forks of real processes that were allowed and whose children are not counted yet.

The kernel charges a fork before it makes the child (pids_can_fork). Here the child is counted when it is seen. Until
then the fork has room reserved in each cgroup with a limit (`Pids.coming`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..controllers.pids import Pids
from ..core.cgroup import Cgroup
from ..core.hierarchy import Hierarchy


def counting(hierarchies: Sequence[Hierarchy]) -> int | None:
    """Which of these has the pids controller; None if none has."""
    return next((number for number, hierarchy in enumerate(hierarchies) if "pids" in hierarchy.controllers), None)


def limiting(place: Cgroup) -> tuple[Pids, ...]:
    """The csses with a limit that a task in this cgroup counts in: its own and those above."""
    css = place.effective_css("pids")
    return css.limited() if isinstance(css, Pids) else ()


def have_room(csses: Iterable[Pids]) -> bool:
    """Whether one fork more is within each limit."""
    return all(css.has_room for css in csses)


def may_have_room_soon(csses: Iterable[Pids]) -> bool:
    """Whether only reservations stand in the way. A fork that fails gives its reservation back."""
    return all(css.has_room or css.current < css.limit for css in csses)


def check(place: Cgroup) -> None:
    """Raises EAGAIN where a limit is reached, and counts that in pids.events (pids_can_fork)."""
    css = place.effective_css("pids")
    if css is not None:
        css.can_fork()


def reserve(csses: Iterable[Pids]) -> None:
    """Reserves room for one task."""
    for css in csses:
        css.coming += 1


def release(csses: Iterable[Pids]) -> None:
    """Gives reserved room back: the child is counted, or there is none."""
    for css in csses:
        css.coming -= 1
