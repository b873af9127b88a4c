"""The digit loop below kstrto*, memparse and sscanf (lib/kstrtox.c, _parse_integer)."""

U64 = 1 << 64
_VALUE = {c: int(c, 16) for c in "0123456789abcdefABCDEF"}


def s64(value: int) -> int:
    """`value` cut to 64 bits with sign."""
    return (value + U64 // 2) % U64 - U64 // 2


def radix(text: str) -> tuple[int, int]:
    """Base and prefix length for base 0: `0x` before a hex digit is 16, a leading `0` is 8, else 10."""
    if text[:1] == "0":
        if text[1:2] in ("x", "X") and text[2:3] in _VALUE:
            return 16, 2
        return 8, 0
    return 10, 0


def digits(text: str, base: int) -> tuple[int, int]:
    """Value (not wrapped) and count of the digits of `base` at the start of `text`."""
    value = count = 0
    for char in text:
        digit = _VALUE.get(char, 99)
        if digit >= base:
            break
        value = value * base + digit
        count += 1
    return value, count
