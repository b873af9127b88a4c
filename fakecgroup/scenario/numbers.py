"""The numbers of interface files."""

from __future__ import annotations


def number_of(text: str, key: str | None) -> str | None:
    """The number of a key (`nr_periods`; `some.total` of nested keys), or of a file that is one number."""
    if key is None:
        return text.strip() if len(text.split()) == 1 and _is_number(text.strip()) else None
    first, _, second = key.partition(".")
    for line in text.splitlines():
        words = line.split()
        if not second and words[:1] == [key] and len(words) == 2:
            return words[1] if _is_number(words[1]) else None
        if second and words[:1] == [first]:
            for word in words[1:]:
                name, _, value = word.partition("=")
                if name == second:
                    return value if _is_number(value) else None
    return None


def numbers(text: str) -> dict[str, int]:
    """The numbers of a flat keyed file such as cpu.stat."""
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines()}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
