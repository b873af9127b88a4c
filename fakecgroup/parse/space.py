"""White space of the kernel's ctype table (lib/ctype.c): the six ASCII characters and 0xa0."""

SPACES = " \t\n\v\f\r\xa0"


def strstrip(text: str) -> str:
    """`text` without white space at both ends (lib/string_helpers.c, strstrip)."""
    return text.strip(SPACES)
