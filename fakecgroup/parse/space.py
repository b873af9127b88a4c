"""White space as the kernel's ctype table has it (lib/ctype.c): the six of ASCII and 0xa0."""

SPACES = " \t\n\v\f\r\xa0"


def strstrip(text: str) -> str:
    """`text` without white space at both ends (lib/string_helpers.c, strstrip)."""
    return text.strip(SPACES)
