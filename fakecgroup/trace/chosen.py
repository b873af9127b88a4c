"""Which calls of a trace somebody wants to see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .call import Call


@dataclass(frozen=True)
class Wanted:
    """What is asked for; what is empty asks for all.

    `paths` are patterns of fnmatch for the whole path, where `*` passes over `/` too. `names` are commands' names,
    which may be patterns. `errors`: only calls that were refused.
    """

    paths: tuple[str, ...] = ()
    pids: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()
    operations: frozenset[str] = frozenset()
    errors: bool = False

    def has(self, call: Call) -> bool:
        """Whether the call is among them."""
        if self.errors and call.errno is None:
            return False
        if self.operations and call.op not in self.operations:
            return False
        if self.pids and call.pid not in self.pids and call.tid not in self.pids:
            return False
        if self.names and not any(fnmatchcase(call.comm, name) for name in self.names):
            return False
        if not self.paths:
            return True
        to = call.text("to")
        return any(fnmatchcase(call.path, path) or (to and fnmatchcase(to, path)) for path in self.paths)

    def of(self, calls: Iterable[Call]) -> Iterator[Call]:
        """Those among some calls."""
        return (call for call in calls if self.has(call))
