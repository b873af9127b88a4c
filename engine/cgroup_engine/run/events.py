"""The events of ``run``, for the log, the metrics and the health endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cgroup_engine.change.apply import Outcome
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.layout import Layout

#: The cause of a reconcile: the start, changed pods, the interval, somebody else's write, a retry after a failure,
#: SIGHUP.
Reason = Literal["start", "pods", "interval", "drift", "retry", "reload"]


@dataclass(frozen=True)
class Drift:
    """A file that somebody else changed, or a cgroup that somebody else removed or made.

    ``path``: of the file or directory, relative to the root. ``by``: who did it, such as ``runc (pid 4711)``; "" if the
    kernel does not tell. ``cgroup``: the path of the cgroup, the same in every hierarchy.
    """

    path: str
    owner: str
    wanted: str
    found: str
    by: str = ""
    cgroup: str = ""


@dataclass(frozen=True)
class Kept:
    """What a reconcile wants. ``by_systemd``: systemd makes the units."""

    layout: Layout
    wanted: Sequence[WantedCgroup]
    by_systemd: bool = False


@dataclass(frozen=True)
class Reconciled:
    """One reconcile. ``duration``: seconds. ``pods``: their number by QoS class.

    ``killed``: path of an unwanted cgroup -> pids of its killed processes. ``kept``: a line for each unwanted cgroup
    that stays. ``backed_off``: number of failed steps that wait for their next attempt. With ``dry_run`` nothing was
    written and ``outcome`` is empty; ``planned`` is the number of steps that a real run would take.
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
    kept_tree: Kept | None = None


#: The subject of a complaint.
About = Literal["pods", "configuration", "root", "record", "drift"]


@dataclass(frozen=True)
class Complaint:
    """One line about something that cannot be used or read; the tree stays in force."""

    text: str
    about: About = "pods"


@dataclass(frozen=True)
class Started:
    """The keeper holds the lock and follows its source. ``root``: as the user wrote it."""

    root: str
    layout: str
    kubepods: str
    dry_run: bool


@dataclass(frozen=True)
class Listening:
    """Metrics and health are served at ``url``; ``loopback``: only to this machine."""

    url: str
    loopback: bool = True


@dataclass(frozen=True)
class Waiting:
    """A turn of the loop is done; the next begins within ``timeout`` seconds."""

    timeout: float


@dataclass(frozen=True)
class Stopping:
    """The keeper ends after a signal; the tree stays as it is."""

    signal: str


Event = Started | Listening | Reconciled | Complaint | Waiting | Stopping


class Listener(Protocol):
    """Hears every event, in order, in the thread of the keeper."""

    def hear(self, event: Event) -> None:
        """Takes one event; must be quick and must not raise."""
