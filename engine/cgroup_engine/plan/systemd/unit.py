"""What a plan knows of systemd: which units are active, and where their cgroups are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Unit:
    """A unit that is active. ``transient``: made over D-Bus, not from a unit file or by systemd itself.

    ``cgroup``: its path below the cgroup root, without a leading "/".
    """

    name: str
    cgroup: str
    transient: bool


class ActiveUnits(Protocol):
    """A systemd as plans see it; nothing here changes it."""

    @property
    def version(self) -> int:
        """systemd's version, such as 252."""

    def unit(self, name: str) -> Unit | None:
        """A unit by its name; None if it is not active.

        :raises SystemdError: systemd did not answer.
        """
