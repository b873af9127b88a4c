"""A simulated process that was killed."""

from __future__ import annotations

from ..named_tuple import NamedTuple


class Kill(NamedTuple):
    """When (ns of the virtual clock), which process, its workload's name, and its cgroups' paths in each hierarchy."""

    time: int
    pid: int
    workload: str | None
    cgroups: tuple[str, ...]
