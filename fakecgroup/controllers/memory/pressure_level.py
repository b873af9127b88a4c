"""Listeners for v1's memory.pressure_level (mm/vmpressure.c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...effects.vmpressure import HARD_LOOKS, LEVELS, WINDOW, level_of
from ...named_tuple import NamedTuple

if TYPE_CHECKING:
    from ...credentials.caller import EventFd
    from .css import Memory

MODES = ("default", "hierarchy", "local")


class PressureListener(NamedTuple):
    """Hears of a level and those above it, by the index in LEVELS (struct vmpressure_event).

    In mode "hierarchy" it hears of groups below even if one below has heard, in "default" only otherwise, in "local" of
    its own group alone.
    """

    level: int
    mode: str
    event: EventFd


def listener(text: str, event: EventFd) -> PressureListener | None:
    """The listener for `low`, `medium` or `critical`, with an optional comma and mode; None for any other text."""
    level, *mode = text.split(",")
    if level not in LEVELS or (mode and mode[0] not in MODES):
        return None
    return PressureListener(LEVELS.index(level), mode[0] if mode else MODES[0], event)


def note_reclaim(css: Memory, scanned: int, reclaimed: int, looks: int = 1) -> None:
    """Tell listeners of reclaim for a limit of this group: each time that a window of pages was scanned (vmpressure).

    `scanned` and `reclaimed` are pages in so many looks.
    """
    while looks:
        some = min(looks, max(1, -(-(WINDOW - css.scanned) * looks // max(1, scanned))))  # until a window is full
        now, taken = scanned * some // looks, reclaimed * some // looks
        scanned, reclaimed, looks = scanned - now, reclaimed - taken, looks - some
        css.scanned += now
        css.reclaimed_of_scanned += taken
        if css.scanned >= WINDOW:
            level = level_of(css.scanned, css.reclaimed_of_scanned)
            css.scanned = css.reclaimed_of_scanned = 0
            _tell_all(css, level)


def note_failed_reclaim(css: Memory, rounds: int) -> None:
    """Tell listeners that so many rounds of reclaim found nothing, however hard they looked (vmpressure_prio)."""
    looks = rounds * HARD_LOOKS
    note_reclaim(css, WINDOW * looks, 0, looks)


def _tell_all(css: Memory, level: int) -> None:
    """Tell listeners of a group and above (vmpressure_work_fn)."""
    above, heard = css, False
    while True:
        heard = _tell(above, level, heard, below=above is not css) or heard
        parent = above.group_above()
        if parent is None or not parent.use_hierarchy:
            return
        above = parent


def _tell(css: Memory, level: int, heard: bool, *, below: bool) -> bool:
    """True if somebody in the group hears of a level there or `below` it (vmpressure_event)."""
    told = False
    for one in css.pressure_listeners:
        if (below and one.mode == "local") or (heard and one.mode == "default") or level < one.level:
            continue
        one.event.signal()
        told = True
    return told
