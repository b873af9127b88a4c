"""Calls in the order in which they were done, though some are known only later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from fakecgroup.trace.call import Call


class Slot:
    """The place of a call among the others. While it is `open`, what is after it waits too. None: there was no call."""

    __slots__ = ("call", "open", "when")

    def __init__(self, when: int, call: Call | None, is_open: bool) -> None:
        self.when = when
        self.call = call
        self.open = is_open

    def drop(self) -> None:
        """It was no call."""
        self.call = None
        self.open = False


class Order:
    """The slots of a trace."""

    def __init__(self) -> None:
        self._slots: deque[Slot] = deque()

    def add(self, when: int, call: Call, *, is_open: bool = False) -> Slot:
        """The next call, done at a time in ns. `is_open`: it may still change, or turn out to be none."""
        slot = Slot(when, call, is_open)
        self._slots.append(slot)
        return slot

    def settled(self, until: int) -> Iterator[Call]:
        """Takes out the calls that are known, and with them all up to a time in ns."""
        slots = self._slots
        while slots and (not slots[0].open or slots[0].when <= until):
            slot = slots.popleft()
            slot.open = False
            if slot.call is not None:
                yield slot.call

    def __bool__(self) -> bool:
        return bool(self._slots)
