"""What one reconcile works on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.run.events import Complaint
from cgroup_engine.tree.found import FoundTree

if TYPE_CHECKING:  # needs D-Bus, which only who speaks to systemd has to have
    from cgroup_engine.change.systemd.bus import Systemd


@dataclass(frozen=True)
class OpenedRoot:
    """The node as its root has it, what is at the root, and systemd if it makes the units.

    ``record``: called with the wanted tree before the first change and after the last one; raises RecordError.
    ``complaints``: about what could not be followed.
    """

    node: NodeConfig
    found: FoundTree
    systemd: Systemd | None = None
    record: Callable[[Sequence[WantedCgroup]], None] = lambda wanted: None
    complaints: Sequence[Complaint] = ()
