"""What ``run`` tells of what it does, for the log, the metrics and the health endpoint alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cgroup_engine.change.apply import Outcome
from cgroup_engine.model.names import QosClass

#: Why the tree was looked at: at the start, as the pods changed, as time passed, as someone wrote, after a failure, as
#: SIGHUP asked for it.
Reason = Literal["start", "pods", "interval", "drift", "retry", "reload"]


@dataclass(frozen=True)
class Drift:
    """A file that someone else changed, or a cgroup (``file`` is empty in ``path``) that someone removed or made.

    ``path``: relative to the root. ``by``: who did it, such as ``runc (pid 4711)``; "" where the kernel does not tell.
    """

    path: str
    owner: str
    wanted: str
    found: str
    by: str = ""


@dataclass(frozen=True)
class Reconciled:
    """One look at the tree and what was done about it. ``duration``: seconds. ``pods``: how many of each QoS class.

    ``killed``: pids of processes that were ended, by the path of their unwanted cgroup. ``kept``: a line for each
    cgroup that is not wanted and stays. ``backed_off``: steps not tried again yet after they failed.
    With ``dry_run`` nothing was written, and ``outcome`` is empty; ``planned`` is how many steps there would be.
    """

    reason: Reason
    duration: float
    pods: Mapping[QosClass, int]
    outcome: Outcome = field(default_factory=Outcome)
    drift: tuple[Drift, ...] = ()
    killed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    backed_off: int = 0
    planned: int = 0
    dry_run: bool = False


#: Where a complaint comes from.
About = Literal["pods", "configuration", "root", "record", "drift"]


@dataclass(frozen=True)
class Complaint:
    """One line about what could not be used or read; the tree stays in force."""

    text: str
    about: About = "pods"


@dataclass(frozen=True)
class Started:
    """The keeper holds the lock and follows its source. ``root`` as the user gave it."""

    root: str
    layout: str
    kubepods: str
    dry_run: bool


@dataclass(frozen=True)
class Listening:
    """Metrics and health are served at ``url``; ``loopback``: to this machine alone."""

    url: str
    loopback: bool = True


@dataclass(frozen=True)
class Waiting:
    """A turn of the loop is done, and the next begins in ``timeout`` seconds at the latest."""

    timeout: float


@dataclass(frozen=True)
class Stopping:
    """The keeper ends, as the named signal told it; the tree stays as it is."""

    signal: str


Event = Started | Listening | Reconciled | Complaint | Waiting | Stopping


class Listener(Protocol):
    """Hears every event, in order, in the thread of the keeper."""

    def hear(self, event: Event) -> None:
        """Must not raise, and be quick."""
