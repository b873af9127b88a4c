"""Files that appear late: a program that looks too soon after mkdir(2) does not find them."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.cgroup import Cgroup


class LateFiles:
    """The files that are hidden now, each until a time in ns."""

    def __init__(self) -> None:
        self._until: dict[tuple[Cgroup, str], int] = {}

    def __bool__(self) -> bool:
        return bool(self._until)

    def hide(self, cgroup: Cgroup, name: str, until: int) -> None:
        """Hides a file until a time."""
        self._until[cgroup, name] = until

    def hidden(self, cgroup: Cgroup, names: Iterable[str], now: int) -> set[str]:
        """Which of these files nobody finds yet."""
        found = set()
        for name in names:
            until = self._until.get((cgroup, name))
            if until is not None and until > now and not cgroup.dead:
                found.add(name)
            elif until is not None:
                del self._until[cgroup, name]
        return found

    def forget(self, cgroup: Cgroup) -> None:
        """Drops the files of a cgroup that was removed."""
        for key in [key for key in self._until if key[0] is cgroup]:
            del self._until[key]
