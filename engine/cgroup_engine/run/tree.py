"""What one reconcile works on, and how it is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.run.events import Complaint
from cgroup_engine.tree.found import FoundTree

if TYPE_CHECKING:  # needs D-Bus, which only who speaks to systemd has to have
    from cgroup_engine.change.systemd.bus import Systemd


@dataclass(frozen=True)
class Tree:
    """The node as its root has it, what is at the root, and systemd if it makes the units.

    ``record``: called with the wanted tree before the first change and after the last one; raises RecordError.
    ``complaints``: about what could not be followed.
    """

    node: NodeConfig
    found: FoundTree
    systemd: Systemd | None = None
    record: Callable[[Sequence[WantedCgroup]], None] = lambda wanted: None
    complaints: Sequence[Complaint] = ()


@dataclass(frozen=True)
class Control:
    """Time in seconds, never going back, and how work is interrupted.

    ``reading``: a context that may be left at any point. ``ending``: asked before each step; True stops there.
    """

    clock: Callable[[], float]
    sleep: Callable[[float], None]
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    ending: Callable[[], bool] = lambda: False
