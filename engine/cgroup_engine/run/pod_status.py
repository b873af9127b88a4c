"""The status of one pod: wanted against found, as it is now."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from cgroup_engine.plan.status import rows_of
from cgroup_engine.run.events import Event, Kept, Reconciled
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.views.status_data import status_data


class PodStatus:
    """Compares a pod's cgroups with what the last reconcile wanted. It may be asked in any thread.

    ``open_fs`` opens the files at the root. Only one pod is looked at a time, so that strangers who ask cost no more.
    """

    def __init__(self, open_fs: Callable[[], CgroupFs]) -> None:
        self._open_fs = open_fs
        self._one = Lock()
        self._kept: Kept | None = None

    def hear(self, event: Event) -> None:
        """Takes what each reconcile wants."""
        if isinstance(event, Reconciled) and event.kept_tree is not None:
            self._kept = event.kept_tree

    def of(self, pod: str) -> dict[str, Any] | None:
        """The data of ``status -o json`` for a pod, NAMESPACE/NAME; None if there is no such pod on the node.

        :raises EngineError: the tree cannot be read.
        """
        kept = self._kept
        wanted = [cgroup for cgroup in kept.wanted if str(cgroup.pod) == pod] if kept is not None else []
        if kept is None or not wanted:
            return None
        with self._one:
            found = FoundTree(self._open_fs(), kept.layout, sparse=True)
            rows = [row for cgroup in wanted for row in rows_of(cgroup, found, by_systemd=kept.by_systemd)]
        data = status_data(rows, kept.layout.name)
        return {**data, "files": list(data["files"])}
