"""What the commands of `fakecgroup ctl` act on, and what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from fakecgroup import Kernel
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.record.tracing import Tracing

if TYPE_CHECKING:
    from fakecgroup.faults import Faults


class Injection(Protocol):
    """The faults of a tree: `faults` are its rules, `begun` whether there ever was one."""

    begun: bool

    @property
    def faults(self) -> Faults: ...


class Enforced(Protocol):
    """The limits of a tree that act on real processes: those of the controllers `names`."""

    names: frozenset[str]

    def enforce(self, names: frozenset[str]) -> None:
        """Lets the limits of these controllers act from now on. Raises RuntimeError if no thread can be started."""


class ControlledTree(NamedTuple):
    """The parts of a mounted tree. Commands use them with the model's lock held (`time.lock`).

    `settle` waits until what a command has changed shows in the mount, and limits act as it has asked for. It is called
    without the lock.
    """

    kernel: Kernel
    time: PassingTime
    injection: Injection
    enforcement: Enforced
    tracing: Tracing
    settle: Callable[[], None]


class Asked(NamedTuple):
    """What a command is given: texts by name, and the descriptor of a file that the asker has opened.

    `file` is -1 for none. It is closed after the command: who goes on with it takes a copy.
    """

    arguments: Mapping[str, str]
    file: int = -1
