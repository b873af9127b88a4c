"""A cgroup as the accounts of tasks see it: its relatives, and the use counted in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from ..machine.machine import Machine
from .usage import CpuTime, Faults, MemoryUse


class PlaceHierarchy(Protocol):
    """The hierarchy of a place (`Hierarchy`)."""

    machine: Machine
    counts_cpu: bool  # its files show CPU time
    counts_memory: bool  # it has the memory controller

    @property
    def root(self) -> Place:
        """The hierarchy's root."""


class Place(Protocol):
    """A cgroup (`Cgroup`) for the modules below `core`. `Processes` keeps places as keys and hands them back."""

    cpu: Mapping[int, CpuTime]
    memory: MemoryUse
    memory_here: MemoryUse
    faults: Faults
    faults_here: Faults

    @property
    def hierarchy(self) -> PlaceHierarchy:
        """The hierarchy that it belongs to."""

    @property
    def parent(self) -> Place | None:
        """The cgroup above; None for a root."""

    @property
    def domain(self) -> Place | None:
        """The domain of a threaded cgroup; None for any other."""

    @property
    def children(self) -> Mapping[str, Place]:
        """The cgroups below by name, oldest first."""

    def lineage(self) -> Iterator[Place]:
        """This cgroup, its parent, and so on up to the root."""

    def memory_changed(self, spike: int) -> None:
        """Note that `memory` has changed, and for a moment was `spike` bytes more."""


Places = tuple[Place, ...]
"""Where a task is: one cgroup per hierarchy."""
