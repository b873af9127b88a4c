"""Divides cases among machines: each case is in one shard, and all shards take about as long."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from fakecgroup.conformance.recording import RecordedCase

#: What a case takes besides its operations, in operations: a tree of its own.
_BEGINNING = 5
#: How much more than its part a shard may get.
_SLACK = 1.02


@dataclass(frozen=True)
class Shard:
    """Part ``number`` of ``count``, from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From ``2/8``. Raises ValueError."""
        number, slash, count = text.partition("/")
        if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise ValueError(f"{text!r} is no shard: 2/8 is the second of eight, the first is 1/8")
        return cls(int(number), int(count))

    def of(self, cases: Sequence[RecordedCase]) -> list[RecordedCase]:
        """This shard's part of the cases of one layout, in their order.

        Names and numbers of operations alone decide, so every machine comes to the same parts. Each case has an order
        of shards of its own, and is in the first that is not full. So a new case moves few others.
        """
        if self.count == 1:
            return list(cases)
        room = sum(map(_cost, cases)) / self.count * _SLACK
        filled = [0] * self.count
        mine = set()
        for case in sorted(cases, key=lambda case: _rank(case, -1)):
            preferred = sorted(range(self.count), key=lambda number: _rank(case, number))
            fitting = (number for number in preferred if filled[number] + _cost(case) <= room)
            chosen = next(fitting, min(preferred, key=filled.__getitem__))
            filled[chosen] += _cost(case)
            if chosen == self.number - 1:
                mine.add(case.case.name)
        return [case for case in cases if case.case.name in mine]


def _cost(case: RecordedCase) -> int:
    return _BEGINNING + len(case.case.ops)


def _rank(case: RecordedCase, number: int) -> bytes:
    return hashlib.sha256(f"{case.case.name}\0{number}".encode("utf-8", "surrogateescape")).digest()
