"""Calls in the order in which they were done, though some are known only later."""

from __future__ import annotations

from collections import deque

from fakecgroup.trace.call import Call


class Slot:
    """The place of a call among the others. While it is `open`, what is after it waits too.

    Once it is settled, `call` is asked for, unless it is not `kept`: then it was none.
    """

    __slots__ = ("kept", "open", "when")

    def __init__(self, when: int) -> None:
        self.when = when
        self.open = self.kept = True

    def drop(self) -> None:
        """It was no call."""
        self.kept = self.open = False

    def call(self) -> Call:
        raise NotImplementedError


class _Known(Slot):
    """A call that waits for one before it."""

    __slots__ = ("_call",)

    def __init__(self, when: int, call: Call) -> None:
        super().__init__(when)
        self._call = call
        self.open = False

    def call(self) -> Call:
        return self._call


class Order:
    """The calls of a trace. `ready` are those before which nothing is open; whoever reads them takes them out."""

    def __init__(self) -> None:
        self.ready: list[Call] = []
        self._slots: deque[Slot] = deque()

    def add(self, when: int, call: Call) -> None:
        """The next call, done at a time in ns."""
        if self._slots:
            self._take_out()
        if self._slots:
            self._slots.append(_Known(when, call))
        else:
            self.ready.append(call)

    def hold(self, slot: Slot) -> None:
        """A place for what is a call or none, as will turn out."""
        self._slots.append(slot)

    def settle(self, until: int) -> None:
        """Takes the calls of a time up to `until`, in ns, as they are known."""
        for slot in self._slots:
            if slot.when > until:
                break
            slot.open = False
        self._take_out()

    def _take_out(self) -> None:
        slots = self._slots
        while slots and not slots[0].open:
            slot = slots.popleft()
            if slot.kept:
                self.ready.append(slot.call())

    def __bool__(self) -> bool:
        """Whether something waits."""
        return bool(self._slots)
