"""A unit of systemd, and the tree whose cgroups are units."""

from __future__ import annotations

from dataclasses import dataclass

#: The cgroup tree that a running systemd manages.
THE_MACHINES_OWN = "/sys/fs/cgroup"


@dataclass(frozen=True)
class Unit:
    """A unit that is active. ``transient``: made over D-Bus, not from a file of the operator or by systemd itself.

    ``cgroup``: its path below the cgroup root, without a leading "/".
    """

    name: str
    cgroup: str
    transient: bool
