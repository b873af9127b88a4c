"""The rules of `cgroup-engine fleet`, as its table has them."""

from __future__ import annotations

from cgroup_engine.fleet.rules import OTHERS, WOULD_NOT_START

from .tables import table


def page() -> str:
    """A row for each rule that has an id of its own."""
    return table(("rule", "what"), ((f"`{rule}`", text) for rule, text in {**WOULD_NOT_START, **OTHERS}.items()))
