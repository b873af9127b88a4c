"""The strict number parsers (lib/kstrtox.c): base 0, an optional sign, one trailing newline, nothing else.

All raise EINVAL for text that is no number, and ERANGE for a number that does not fit, even if junk follows it.
"""

from __future__ import annotations

from errno import EINVAL, ERANGE

from ..refuse import refuse
from .digits import U64, digits, radix

_TRUTH = {"y": True, "t": True, "1": True, "n": False, "f": False, "0": False}


def _unsigned(text: str) -> int:
    base, prefix = radix(text)
    value, count = digits(text[prefix:], base)
    if value >= U64:
        raise refuse(ERANGE)
    if count == 0 or text[prefix + count :] not in ("", "\n"):
        raise refuse(EINVAL)
    return value


def kstrtou64(text: str) -> int:
    """An unsigned 64-bit number. A minus sign is EINVAL."""
    return _unsigned(text[1:] if text[:1] == "+" else text)


def kstrtos64(text: str) -> int:
    """A signed 64-bit number."""
    if text[:1] == "-":
        value = -_unsigned(text[1:])
        if value < -(1 << 63):
            raise refuse(ERANGE)
        return value
    value = kstrtou64(text)
    if value >= 1 << 63:
        raise refuse(ERANGE)
    return value


def kstrtoint(text: str) -> int:
    """A signed 32-bit number."""
    value = kstrtos64(text)
    if not -(1 << 31) <= value < 1 << 31:
        raise refuse(ERANGE)
    return value


def kstrtobool(text: str, *, true_and_false: bool) -> bool:
    """A truth value, which the first letter or two tell: y, 1, on; n, 0, off. Some kernels take t and f too."""
    first = text[:1].lower()
    if first == "o":
        first = {"n": "y", "f": "n"}.get(text[1:2].lower(), "")
    if first not in _TRUTH or (first in ("t", "f") and not true_and_false):
        raise refuse(EINVAL)
    return _TRUTH[first]
