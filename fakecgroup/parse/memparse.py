"""Sizes with a suffix (lib/cmdline.c, memparse)."""

from .digits import U64, digits, radix

_SHIFT = {letter: 10 * power for power, letter in enumerate("KMGTPE", start=1)}


def memparse(text: str, *, saturate: bool = False) -> tuple[int, str]:
    """Bytes and the text that follows. Takes digits in base 0 (none is 0), then one of K M G T P E in either case.

    The number wraps at 2^64, once for the digits and once for the suffix. With `saturate` it becomes the greatest one
    instead, and a suffix without a digit before it is not taken.
    """
    base, prefix = radix(text)
    value, count = digits(text[prefix:], base)
    rest = text[prefix + count :]
    shift = _SHIFT.get(rest[:1].upper(), 0)
    if saturate:
        return min(value << shift, U64 - 1), rest[1:] if shift and count else rest
    return (value % U64 << shift) % U64, rest[1:] if shift else rest
