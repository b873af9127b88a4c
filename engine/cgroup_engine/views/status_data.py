"""Wanted against found, as plain data: what ``status -o json`` prints and ``/status`` answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgroup_engine.plan.status import Row, differs
from cgroup_engine.views.fit import Misfit


def status_data(rows: Sequence[Row], layout: str, unfit: Sequence[Misfit] = ()) -> dict[str, Any]:
    """The rows of a status; ``files`` is an iterator. ``unfit``: what the node has not."""
    return {
        "layout": layout,
        "drift": any(map(differs, rows)),
        "unfit": [misfit.data() for misfit in unfit],
        "files": (_file(row) for row in rows),
    }


def _file(row: Row) -> dict[str, str]:
    return {
        "path": row.path,
        "state": row.state,
        "wanted": row.wanted,
        "found": row.found,
        "unit": row.knob.unit() if row.knob is not None else "",
        "for": row.owner,
    }
