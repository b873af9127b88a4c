"""Wanted against found, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cgroup_engine.model.names import Driver
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.removal import unwanted
from cgroup_engine.plan.steps import at_usage, settings_of
from cgroup_engine.plan.stopped import is_left, is_stopped
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import Knob

State = Literal["ok", "drift", "missing", "unwanted", "waiting"]


@dataclass(frozen=True, slots=True)
class Row:
    """One interface file, or the directory of a cgroup that is missing, unwanted, or waits for its runtime.

    ``path`` is relative to the root.
    """

    path: str
    owner: str
    state: State
    wanted: str = ""
    found: str = ""
    knob: Knob | None = None


def differs(row: Row) -> bool:
    """Does it differ from the wanted tree? A container that waits for its runtime does not."""
    return row.state not in ("ok", "waiting")


def compare(wanted: Sequence[WantedCgroup], found: FoundTree, driver: Driver, *, by_systemd: bool = False) -> list[Row]:
    """Every wanted file with its text, missing directories, and unwanted pods and containers.

    ``by_systemd``: systemd makes the units, so a container without its scope waits for its runtime. So does a container
    that does not run and whose cgroup is gone.

    :raises RootError: something there cannot be read.
    """
    rows = [row for cgroup in wanted for row in rows_of(cgroup, found, by_systemd=by_systemd)]
    removable, kept = unwanted(wanted, found, driver)
    rows += [Row(step.path, step.owner, "unwanted") for step in removable]
    rows += [Row(note.split(":")[0].lstrip("/"), "", "unwanted", found=note) for note in kept]
    return rows


def rows_of(cgroup: WantedCgroup, found: FoundTree, *, by_systemd: bool = False) -> Iterator[Row]:
    """The rows of one cgroup; see ``compare``.

    :raises RootError: something there cannot be read.
    """
    layout = found.layout
    cgroup = at_usage(cgroup, found)
    there = found.get(cgroup.path)
    if is_left(cgroup, found):
        return
    if (by_systemd and cgroup.level == "container" and there is None) or is_stopped(cgroup, found):
        yield Row(cgroup.path, cgroup.owner, "waiting")
        return
    for hierarchy in layout.hierarchies:
        if (there is None or hierarchy not in there.hierarchies) and cgroup.level != "reserved":
            yield Row(layout.directory(hierarchy, cgroup.path), cgroup.owner, "missing")
    for knob, setting in settings_of(cgroup, layout):
        have = there.setting(knob) if there is not None else None
        if have is None and there is not None and not knob.given(cgroup.limits):
            continue  # this kernel lacks the file, and nothing is wanted there
        for n, (file, want) in enumerate(zip(knob.files, setting, strict=True)):
            path = layout.file(knob.controller, cgroup.path, file)
            if have is None:
                yield Row(path, cgroup.owner, "missing", want, "", knob)
            else:
                state: State = "ok" if knob.same(want, have[n], file) else "drift"
                yield Row(path, cgroup.owner, state, want, have[n], knob)
