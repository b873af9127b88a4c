"""The Go types of a Pod inside the kubelet, by release; read from ``types.txt``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

NEWEST_TYPES = 36  # the newest release of types.txt


@dataclass(frozen=True)
class Field:
    """A field of a struct. ``key`` is its name in a manifest, None if it has none."""

    name: str
    type: str
    key: str | None
    inline: bool


@dataclass(frozen=True)
class TypeTable:
    """The types of one release: structs with their fields in order, and the kinds of the other types."""

    structs: Mapping[str, tuple[Field, ...]]
    kinds: Mapping[str, str]


@functools.lru_cache(maxsize=4)
def type_table(minor: int) -> TypeTable:
    """The types of release 1.``minor``; 24 to 36 are known."""
    structs: dict[str, list[Field]] = {}
    kinds: dict[str, str] = {}
    fields: list[Field] = []
    text = resources.files(__package__).joinpath("types.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        words = line.split()
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            options = dict(word.partition("=")[::2] for word in words[2:])
            if int(options.get("since", minor)) <= minor < int(options.get("until", minor + 1)):
                key = options.get("json", words[0][0].lower() + words[0][1:])
                fields.append(Field(words[0], words[1], None if key == "-" else key, "inline" in options))
        elif len(words) == 3:
            kinds[words[0]] = words[2]
        else:
            fields = structs.setdefault(words[0], [])
    return TypeTable({name: tuple(rows) for name, rows in structs.items()}, kinds)
