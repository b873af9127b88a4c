"""Lists of bit numbers such as ``0-3,8-15:1/2`` (lib/bitmap.c, bitmap_parselist; printk's ``%*pbl``).

A set of CPUs or nodes is an int: bit N is set where N is in the set.
"""

from __future__ import annotations

from errno import EINVAL, EOVERFLOW, ERANGE

from ..refuse import refuse
from .space import SPACES

_BETWEEN = SPACES + ","
_U32 = 1 << 32


class _Reader:
    """A reader of a list of `width` bits. `words`: `all` and `N` are known."""

    def __init__(self, text: str, width: int, words: bool) -> None:
        self.text = text
        self.place = 0
        self.width = width
        self.words = words

    def next_region(self) -> bool:
        """Skip separators, newlines among them. False at the end of the text."""
        while self.place < len(self.text) and self.text[self.place] in _BETWEEN:
            self.place += 1
        return self.place < len(self.text)

    def take(self, char: str) -> bool:
        found = self.text.startswith(char, self.place)
        self.place += found
        return found

    def number(self) -> int:
        if self.words and self.take("N"):
            return self.width - 1
        start = self.place
        while self.place < len(self.text) and "0" <= self.text[self.place] <= "9":
            self.place += 1
        if start == self.place:
            raise refuse(EINVAL)
        figures = self.text[start : self.place].lstrip("0") or "0"
        if len(figures) > 10 or int(figures) >= _U32:
            raise refuse(EOVERFLOW)
        return int(figures)

    def ends_region(self) -> bool:
        return self.place == len(self.text) or self.text[self.place] in _BETWEEN

    def bounds(self) -> tuple[int, int]:
        """`N`, `N-M` or `all`."""
        if self.words and self.text[self.place : self.place + 3].lower() == "all":
            self.place += 3
            return 0, self.width - 1
        first = self.number()
        if self.ends_region():
            return first, first
        if not self.take("-"):
            raise refuse(EINVAL)
        return first, self.number()

    def region(self) -> int:
        """The bits of one range. `:used/group` takes the first `used` bits of each `group`."""
        first, last = self.bounds()
        if self.ends_region():
            used = group = (last + 1) % _U32
            if self.take("\n"):
                self.place = len(self.text)  # a newline right after a number ends the list
        else:
            if not self.take(":"):
                raise refuse(EINVAL)
            used = self.number()
            if not self.take("/"):
                raise refuse(EINVAL)
            group = self.number()
        if first > last or not group or used > group:
            raise refuse(EINVAL)
        if last >= self.width:
            raise refuse(ERANGE)
        return sum(1 << bit for bit in range(first, last + 1) if (bit - first) % group < used)


def parse_bitlist(text: str, width: int, *, words: bool) -> int:
    """The bits of a list, all below `width`. `words`: `N` is the last bit and `all` every bit (from 5.12 on).

    Raises EINVAL for a malformed list, EOVERFLOW for a number over 32 bits, ERANGE for a number of `width` or more. The
    first fault in the list decides.
    """
    reader = _Reader(text, width, words)
    bits = 0
    while reader.next_region():
        bits |= reader.region()
    return bits


def format_bitlist(bits: int) -> str:
    """The shortest list of the bits, such as ``0-1,3``; empty for no bit."""
    ranges = []
    first = 0
    while bits >> first:
        if bits >> first & 1:
            last = first
            while bits >> (last + 1) & 1:
                last += 1
            ranges.append(str(first) if first == last else f"{first}-{last}")
            first = last
        first += 1
    return ",".join(ranges)
