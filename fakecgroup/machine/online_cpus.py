"""Which CPUs of a machine are online."""

from __future__ import annotations


class OnlineCpus:
    """The CPUs of a machine with so many, as masks: all that there are, and those that are online.

    The kernel's possible, present, online and active CPUs: here the first two are one, and so are the others.
    """

    online: int

    def __init__(self, cpus: int) -> None:
        self.possible = self.online = (1 << cpus) - 1

    def __contains__(self, cpu: int) -> bool:
        return bool(self.online >> cpu & 1)

    def set(self, cpu: int, online: bool) -> None:
        """Take a CPU online or offline."""
        self.online = self.online | 1 << cpu if online else self.online & ~(1 << cpu)

    @property
    def offline(self) -> int:
        """The CPUs that are there, but not online."""
        return self.possible & ~self.online
