"""A rule of a fault in the tree of the fixture `cgroupfs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import TracebackType

    from fakecgroup.faults import Firing


class Ask(Protocol):
    """Asks the tree's daemon to do a command, and returns what it tells."""

    def __call__(self, command: str, **arguments: str) -> Any: ...


class TreeFault:
    """A rule that was added; at the end of a `with` it is removed. `id` is that of `fakecgroup ctl DIR fault list`."""

    def __init__(self, number: int, rule: str, ask: Ask) -> None:
        self.id = number
        self.rule = rule
        self._ask = ask
        self._fired = 0

    def __repr__(self) -> str:
        return f"<fault {self.id}: {self.rule}>"

    @property
    def fired(self) -> int:
        """How often the rule has acted; of one that was removed, until then."""
        for row in self._ask("fault list")["rules"]:
            if row["id"] == self.id:
                self._fired = row["fired"]
        return self._fired

    @property
    def firings(self) -> tuple[Firing, ...]:
        """Where it has acted, the oldest first, of the last 1,000 firings of all rules."""
        from fakecgroup.faults import Firing  # takes a while to load

        rows = self._ask("fault list")["firings"]
        return tuple(Firing(**row) for row in rows if row["rule"] == self.id)

    def remove(self) -> None:
        """Takes the rule back. Does nothing the second time."""
        self._fired = self.fired
        if any(row["id"] == self.id for row in self._ask("fault list")["rules"]):
            self._ask("fault remove", id=str(self.id))

    def __enter__(self) -> TreeFault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()
