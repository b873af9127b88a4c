"""The two conversions of the kernel's sscanf that cgroup files use (lib/vsprintf.c, vsscanf)."""

from __future__ import annotations

from .digits import U64, digits
from .space import SPACES


def scan_word(text: str, width: int) -> tuple[str | None, str]:
    """`%<width>s`: skips white space, takes up to `width` other characters; None where there is none."""
    text = text.lstrip(SPACES)
    end = 0
    while end < len(text) and end < width and text[end] not in SPACES:
        end += 1
    return text[:end] or None, text[end:]


def scan_decimal(text: str) -> tuple[int | None, str]:
    """`%llu`: skips white space, takes decimal digits, wraps at 2^64; None where there is no digit."""
    text = text.lstrip(SPACES)
    value, count = digits(text, 10)
    return (value % U64 if count else None), text[count:]
