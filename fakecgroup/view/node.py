"""What the page shows of a cgroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["bytes", "cpus", "count"]


@dataclass(slots=True)
class Meter:
    """A resource of a cgroup: what is used of it, and the limit that is set here. None where nobody says.

    `bound_by` is the number of the node whose limit acts first, here or above (`binding.bind`).
    """

    resource: str
    unit: Unit
    used: float | None = None
    limit: float | None = None
    bound_by: int | None = None


@dataclass(slots=True)
class Row:
    """A file of a cgroup, or of a hierarchy on v1: its text, what it should be where somebody knows, and why.

    `source` is the function that has the rule.
    """

    file: str
    text: str
    wanted: str | None = None
    why: str = ""
    source: str = ""

    @property
    def differs(self) -> bool:
        """Whether it is not as it should be."""
        return self.wanted is not None and self.wanted.strip() != self.text.strip()


@dataclass(slots=True)
class Node:
    """A cgroup. `parent` is the number of a node before it. `processes` is None where nobody knows.

    `notes` are short texts about what has happened here: "throttled in 40 % of periods". `alarming` ones stand first.
    """

    path: str
    parent: int | None
    processes: int | None = None
    meters: list[Meter] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    alarming: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The last part of the path; "/" of the root."""
        return self.path.rstrip("/").rpartition("/")[2] or "/"


@dataclass(slots=True)
class Tree:
    """All that a page shows: a title, lines about the machine, and the nodes, parents before children."""

    title: str
    facts: Sequence[tuple[str, str]]
    nodes: list[Node]
