"""Whom the OOM killer takes of real processes, and their end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress

from fakecgroup import Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.simulation.oom_killer import UNKILLABLE, Candidate, OomKiller
from fakecgroup_mount.enforce import footprint
from fakecgroup_mount.enforce.mrelease import release_memory
from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.shortage import may_keep
from fakecgroup_mount.host.usage import parent_of, stat_of

_SOON = 0.001  # seconds
_DYING = 5.0  # seconds for a killed process to give its memory back, until the next may be killed


class Victims:
    """Chooses and kills. `spared` are pids that are never killed, beside init, this process and its children."""

    def __init__(self, kernel: Kernel, processes: HostProcesses, spared: frozenset[int]) -> None:
        self._processes = processes
        self._spared = {*UNKILLABLE, os.getpid(), *spared}
        self._killer = OomKiller(kernel.machine, self.candidate)
        self.killed = 0
        """How many were killed."""
        self._dying: dict[int, float] = {}  # pid -> monotonic time until which it is waited for
        self._dead: list[int] = []  # pidfds of the killed whose memory is to be released

    def choose(self, cgroup: Cgroup) -> list[int]:
        """`OomKiller.victims`: whom to kill in a cgroup that is out of memory; none if nobody can be killed."""
        return self._killer.victims(cgroup)

    def candidate(self, tgid: int) -> Candidate | None:
        """None for a process that is gone, or that we may not signal."""
        if tgid in self._spared or parent_of(tgid) == os.getpid():
            return None
        try:
            pidfd = self._processes.open(tgid)
        except OSError:
            return None
        try:
            signal.pidfd_send_signal(pidfd, 0)
        except OSError:
            return None
        finally:
            os.close(pidfd)
        return footprint.candidate(tgid)

    def start_of(self, tgid: int) -> str | None:
        """When a process started, by /proc/PID/stat; None for one that may not be touched (`candidate`)."""
        stat = stat_of(tgid)
        return stat[tasks.START] if stat and self.candidate(tgid) is not None else None

    def kill(self, tgid: int) -> None:
        """Kills a process of `choose`. At the limit of descriptors its memory is freed by its exit alone."""
        self.killed += 1
        self._dying[tgid] = time.monotonic() + _DYING
        with suppress(ProcessLookupError):
            pidfd = self._processes.open(tgid)
            self._dead.append(pidfd)
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            if not may_keep(pidfd):
                os.close(self._dead.pop())

    def are_dying(self, tgids: Collection[int]) -> bool:
        """Whether one of these was killed and still has memory."""
        return bool(self._dying) and any(tgid in self._dying for tgid in tgids)

    def bury(self) -> None:
        """Frees the memory of those that were killed, and forgets those that have given it back."""
        while self._dead:
            pidfd = self._dead.pop()
            release_memory(pidfd)
            os.close(pidfd)
        if self._dying:
            now = time.monotonic()
            for tgid, until in list(self._dying.items()):
                if until < now or not footprint.anon_bytes(tgid):
                    self._dying.pop(tgid, None)

    def are_gone(self, until: float) -> bool:
        """Waits until all that were killed have given their memory back; False at the monotonic time `until`."""
        while self._dying:
            if time.monotonic() > until:
                return False
            self.bury()
            if self._dying:
                time.sleep(_SOON)
        return True
