"""The conversions of the kernel's sscanf that cgroup files use (lib/vsprintf.c, vsscanf).

Each returns the value, None if there is none, and the text that follows.
"""

from __future__ import annotations

from .digits import U64, digits, s64
from .space import SPACES


def scan_word(text: str, width: int) -> tuple[str | None, str]:
    """`%<width>s`: skip white space, take up to `width` other characters."""
    text = text.lstrip(SPACES)
    end = 0
    while end < len(text) and end < width and text[end] not in SPACES:
        end += 1
    return text[:end] or None, text[end:]


def scan_decimal(text: str, *, saturate: bool = False) -> tuple[int | None, str]:
    """`%llu`: skip white space, take decimal digits.

    A number beyond 64 bits wraps, or with `saturate` becomes the greatest one.
    """
    text = text.lstrip(SPACES)
    value, count = digits(text, 10)
    if not count:
        return None, text
    return min(value, U64 - 1) if saturate else value % U64, text[count:]


def scan_signed(text: str, *, saturate: bool = False) -> tuple[int | None, str]:
    """`%lld`: as `scan_decimal`, with an optional minus sign. The result is cut to 64 bits with sign."""
    text = text.lstrip(SPACES)
    negative = text[:1] == "-" and text[1:2].isdecimal()
    value, rest = scan_decimal(text[negative:], saturate=saturate)
    if value is None:
        return None, text
    return s64(-value if negative else value), rest
