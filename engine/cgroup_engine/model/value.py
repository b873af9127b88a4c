"""``value``: a dataclass that is not changed, of which a node has tens of thousands.

Type checkers read it as ``dataclass``, so ``frozen`` holds for them. It does not when the program runs: to freeze takes
four fifths of the time in which an object is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:
    from dataclasses import dataclass

    def value(*, frozen, slots):
        """``dataclass`` with hashes as of a frozen one."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["value"]
