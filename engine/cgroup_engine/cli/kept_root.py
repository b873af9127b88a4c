"""The root of ``run``. Each reconcile looks at it anew: another tree may be mounted there by then, or none."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from cgroup_engine.change.ownership import Ownership, kubepods_path
from cgroup_engine.cli.node_and_pods import node_of
from cgroup_engine.cli.ownership import ownership_of
from cgroup_engine.cli.root import at_root, systemd_of
from cgroup_engine.errors import InputError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.run.events import Complaint
from cgroup_engine.run.foreign_writes import ForeignWrites
from cgroup_engine.run.opened_root import OpenedRoot
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import detect


class KeptRoot:
    """The tree at --root, with the lock on its kubepods; --dry-run needs no lock.

    ``foreign_writes``: writes of other processes, None if the kernel does not tell.
    """

    def __init__(self, options: argparse.Namespace, node: NodeConfig) -> None:
        self._options = options
        self._node = node
        self._configuration = _states_of(options)
        self._held = ExitStack()
        self._device = -1
        self._ownership: Ownership | None = None
        self.foreign_writes: ForeignWrites | None = None

    @property
    def known(self) -> Sequence[str]:
        """Paths of the pods and containers that an earlier run made here."""
        return self._ownership.recorded_paths if self._ownership is not None else ()

    @property
    def taken_over(self) -> bool:
        """Did somebody else make kubepods, and may make pods' cgroups in it?"""
        return self._ownership is not None and self._ownership.taken_over

    def take(self) -> None:
        """Takes the lock.

        :raises EngineError: the root cannot be used, another engine holds the lock, or kubepods is someone else's.
        """
        self._take(self._found())

    @contextmanager
    def opened(self) -> Iterator[OpenedRoot]:
        """The tree as it is now.

        :raises EngineError: as ``take``; it takes the lock anew if another tree is there now.
        """
        found = self._found()
        self._take(found)
        complaints = self._follow_configuration()
        node = at_root(self._node, found)
        with systemd_of(self._options, node) as systemd:
            if systemd is not None:
                node = replace(node, default_tasks_max=systemd.default_tasks_max())
            record = self._ownership.record if self._ownership is not None else lambda wanted: None
            yield OpenedRoot(node, found, systemd, record, complaints)

    def close(self) -> None:
        """Gives the lock back."""
        self._held.close()
        if self.foreign_writes is not None:
            self.foreign_writes.close()

    def _found(self) -> FoundTree:
        fs = self._options.open_root(self._options.root)
        return FoundTree(fs, detect(fs, self._options.root))

    def _take(self, found: FoundTree) -> None:
        device = 0
        if isinstance(found.fs, OsFs):
            device = found.fs.stat(found.layout.hierarchies[0]).st_dev
        if device == self._device:
            return
        self._held.close()
        self._device, self._ownership = -1, None
        if not self._options.dry_run:
            fresh = FoundTree(found.fs, found.layout)  # reads before the lock do not count
            ownership = ownership_of(
                self._options, self._node, fresh, always=True, look="--dry-run only looks and tells"
            )
            self._ownership = self._held.enter_context(ownership)
        self._follow_foreign_writes(found)
        self._device = device

    def _follow_configuration(self) -> list[Complaint]:
        """Reads --config and the managers' states again if one has changed; what cannot be used changes nothing."""
        state = _states_of(self._options)
        if state == self._configuration:
            return []
        self._configuration = state
        try:
            node, _ = node_of(self._options)
        except InputError as wrong:
            return [Complaint(f"{wrong}; the former configuration stays in force", "configuration")]
        fixed = [
            name
            for name, old, new in (
                ("cgroupRoot", self._node.cgroup_root, node.cgroup_root),
                ("cgroupDriver", self._node.driver, node.driver),
                ("featureGates", self._node.version, node.version),
            )
            if old != new
        ]
        if fixed:
            text = f"{self._options.config}: {', '.join(fixed)} cannot change while this runs; start it again"
            return [Complaint(f"{text}; the former configuration stays in force", "configuration")]
        self._node = node
        return []

    def _follow_foreign_writes(self, found: FoundTree) -> None:
        with suppress(OSError):  # it takes root
            if self.foreign_writes is not None:
                self.foreign_writes.mark(found.layout)
            elif isinstance(found.fs, OsFs):
                top = kubepods_path(self._node).split("/")[0]
                self.foreign_writes = ForeignWrites(self._options.root, found.layout, top)


def _states_of(options: argparse.Namespace) -> tuple[tuple[int, ...], ...]:
    return tuple(map(_state_of, (options.config, options.cpu_manager_state, options.memory_manager_state)))


def _state_of(config: str | None) -> tuple[int, ...]:
    """Facts that change when a file is written or replaced; empty without a file."""
    try:
        found = os.stat(config) if config is not None else None
    except OSError:
        return (-1,)
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found is not None else ()
