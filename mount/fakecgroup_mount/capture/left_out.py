"""What could not be read, a line for each kind."""

from __future__ import annotations

import os
from collections.abc import Iterator

_NAMED = 4  # of a kind


class LeftOut:
    """Counts what could not be read, by kind and reason."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], dict[str, int]] = {}
        self._lines: list[str] = []

    def add(self, kind: str, error: OSError, name: str) -> None:
        """Note one thing of a kind, `files`, by its name."""
        names = self._seen.setdefault((kind, os.strerror(error.errno or 0)), {})
        names[name] = names.get(name, 0) + 1

    def tell(self, line: str) -> None:
        """Note a line of its own."""
        self._lines.append(line)

    def lines(self) -> Iterator[str]:
        for (kind, why), names in self._seen.items():
            some = sorted(names, key=lambda name: -names[name])[:_NAMED]
            more = ", ..." if len(names) > _NAMED else ""
            yield f"{kind}: {sum(names.values())} ({', '.join(some)}{more}): {why}"
        yield from self._lines
