"""What one reconcile works on, and how it is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from engine.found import FoundTree
from engine.node import NodeConfig
from engine.run.events import Complaint
from engine.systemd.bus import Systemd
from engine.wanted_cgroup import WantedCgroup


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
