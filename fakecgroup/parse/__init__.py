"""The kernel's parsers of numbers, sizes and lists.

Every parser takes the text up to its first NUL and raises ``OSError`` with the kernel's errno.
Text is decoded as latin-1, so one character is one byte.
"""

from .bitlist import format_bitlist, parse_bitlist
from .digits import digits, radix, s64
from .kstrto import kstrtobool, kstrtoint, kstrtos64, kstrtou64
from .memparse import memparse
from .space import SPACES, strstrip
from .sscanf import scan_decimal, scan_signed, scan_word

__all__ = [
    "SPACES",
    "digits",
    "format_bitlist",
    "kstrtobool",
    "kstrtoint",
    "kstrtos64",
    "kstrtou64",
    "memparse",
    "parse_bitlist",
    "radix",
    "s64",
    "scan_decimal",
    "scan_signed",
    "scan_word",
    "strstrip",
]
