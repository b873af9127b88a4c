"""Orphaned cgroups of pods and containers: those that may be removed now, and those whose processes are killed first.

A cgroup that was never wanted may be a pod's that the source does not show yet, or a container's that its runtime is
just making. It stays for a while. After that a pod's cgroup is removed with its processes, as a kubelet does
(cleanupOrphanedPodCgroups). In a kubepods that was taken over, a kubelet may have made the cgroup for a pod that the
source never shows, such as a static pod without its mirror. There it stays while a process lives in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cgroup_engine.change.killing import Killing
from cgroup_engine.model.names import Driver, is_pod_directory
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.removal import orphans
from cgroup_engine.plan.step import Step
from cgroup_engine.run.backoff import BackOff
from cgroup_engine.run.control import Control
from cgroup_engine.run.opened_root import OpenedRoot
from cgroup_engine.sources.source import Seen
from cgroup_engine.tree.found import FoundCgroup
from cgroup_engine.tree.fs import many_calls

#: Seconds that an unwanted cgroup of unknown origin stays, or the interval if that is shorter.
GRACE = 60.0
#: Most seconds until processes that do not end are killed again; a kubelet does so every two (housekeeping).
_LONGEST = 4.0
_ENDING = "its processes are ended"


@dataclass(frozen=True)
class Verdict:
    """The decision about all unwanted cgroups.

    ``to_keep``: paths that may not be removed now. ``to_kill``: pods' cgroups whose processes are killed first.

    ``foreign``: unwanted cgroups with a pod's name that this run did not make, seen for the first time.
    """

    to_keep: frozenset[str] = frozenset()
    to_kill: tuple[FoundCgroup, ...] = ()
    foreign: tuple[FoundCgroup, ...] = ()

    def spares(self, step: Step) -> bool:
        """Would a step remove a cgroup of ``to_keep``, or one in it?"""
        return step.during == "remove" and any(f"{step.cgroup}/".startswith(f"{path}/") for path in self.to_keep)


class Orphans:
    """Remembers which cgroups were ever wanted, and since when there are others.

    ``known``: paths that an earlier run made. ``taken_over``: somebody else may make pods' cgroups here too.
    """

    def __init__(
        self, control: Control, interval: float, known: Iterable[str] = (), *, taken_over: bool = False
    ) -> None:
        self._control = control
        self._grace = min(interval, GRACE)
        self._taken_over = taken_over
        self._known = set(known)
        self._unseen = set(known)  # paths of an earlier run that this one has not wanted yet
        self._since: dict[str, float] = {}
        self._again = BackOff(min(interval, _LONGEST), control.clock)

    def due(self) -> float | None:
        """The time to look again at cgroups that stay or do not end, by the clock; None if there are none."""
        now = self._control.clock()
        waiting = [since + self._grace for since in self._since.values() if since + self._grace > now]
        return min([*waiting, *filter(None, [self._again.due()])], default=None)

    def judge(self, root: OpenedRoot, wanted: Sequence[WantedCgroup], seen: Seen) -> Verdict:
        """Decides about all unwanted cgroups. Changes nothing.

        :raises RootError: something there cannot be read.
        """
        now, driver = self._control.clock(), root.node.driver
        with many_calls(root.found.fs):
            there = {orphan.path: orphan for orphan in orphans(wanted, root.found, driver)}
        uids = {_uid(cgroup.path, driver) for cgroup in wanted if cgroup.level == "pod"}
        foreign = tuple(
            orphan
            for path, orphan in there.items()
            if path not in self._known | self._since.keys() and _is_pod(path, driver)
        )
        self._since = {path: self._since.get(path, now) for path in there if path not in self._known}
        self._known = {cgroup.path for cgroup in wanted} | (self._known & there.keys())
        self._again.keep_only(there)
        self._unseen -= {cgroup.path for cgroup in wanted}
        to_keep = {path for path, since in self._since.items() if not seen.complete or now < since + self._grace}
        if not seen.complete:
            to_keep |= self._unseen & there.keys()
        to_kill = tuple(
            orphan
            for path, orphan in there.items()
            if path not in to_keep
            and not (self._taken_over and path in self._since)
            and _is_pod(path, driver)
            and _uid(path, driver) not in uids  # a pod that only changed its QoS class is not killed
            and not self._again.in_backoff(path, _ENDING)
        )
        return Verdict(frozenset(to_keep), to_kill, foreign)

    def end(self, to_kill: Sequence[FoundCgroup], killing: Killing) -> dict[str, tuple[int, ...]]:
        """Kills the processes of pods; returns their pids by the pod's path. Survivors are killed again later."""
        ended = killing.end([orphan.path for orphan in to_kill])
        for path in killing.not_ended:
            self._again.back_off(path, _ENDING)
        return ended


def _is_pod(path: str, driver: Driver) -> bool:
    return is_pod_directory(path.rpartition("/")[2], driver)


def _uid(path: str, driver: Driver) -> str:
    """The part of a pod's directory name that comes from its UID."""
    name = path.rpartition("/")[2]
    return name if driver == "cgroupfs" else name.rpartition("-")[2]
