"""The root as one reconcile has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.run.events import Complaint
from cgroup_engine.tree.found import FoundTree

if TYPE_CHECKING:  # it imports the D-Bus library, which only the systemd driver needs
    from cgroup_engine.change.systemd.bus import Systemd


@dataclass(frozen=True)
class OpenedRoot:
    """A node with the facts of its root, the found tree, and systemd if it makes the units.

    ``record``: called with the wanted tree before the first change and after the last one; raises RecordError.
    ``complaints``: about a changed configuration that cannot be followed.
    """

    node: NodeConfig
    found: FoundTree
    systemd: Systemd | None = None
    record: Callable[[Sequence[WantedCgroup]], None] = lambda wanted: None
    complaints: Sequence[Complaint] = ()
