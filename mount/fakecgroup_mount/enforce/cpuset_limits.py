"""cpuset.cpus of real processes: they run on the CPUs of their cpuset, as far as they have asked for them.

The model sets affinities itself, while it answers a write (`fakecgroup.controllers.cpuset.tasks`). What remains is to
begin and to end, to find those that are new, and those that have asked for other CPUs by a system call that nobody has
trapped.
"""

from __future__ import annotations

import threading
import time

from fakecgroup import Kernel
from fakecgroup.controllers.cpuset.css import Cpuset
from fakecgroup.controllers.cpuset.tasks import of_new_task
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.outside import affinities
from fakecgroup.tasks.affinity import Affinity
from fakecgroup.tasks.joined_processes import is_simulated
from fakecgroup_mount.host.affinities import HostAffinities, cpus_below
from fakecgroup_mount.host.processes import HostProcesses

_LONGEST = 1.0  # seconds between two looks
_SPARING = 100  # times the CPU time of a look until the next


class CpusetLimits:
    """Has the processes of `kernel`'s cpusets run on their CPUs. `lock` is the model's.

    Under `run` somebody else keeps the affinities, and nothing is asked for unseen. `spared` are pids that are never
    touched, beside this process.
    """

    def __init__(
        self, kernel: Kernel, processes: HostProcesses, lock: threading.Lock, spared: frozenset[int] = frozenset()
    ) -> None:
        self._kernel = kernel
        self._lock = lock
        found = kernel.membership.affinities
        self._kept = isinstance(found, HostAffinities)
        self._affinities = (
            found
            if isinstance(found, HostAffinities)
            else HostAffinities(kernel.cpus, cpus_below(kernel.machine, pinned=False), spared)
        )
        self._seen: set[int] = set()
        self.idle = True
        """Nobody is in a cpuset but the root's."""
        self._hierarchy: Hierarchy | None = next(
            (one for one in kernel.hierarchies if "cpuset" in one.controllers), None
        )

    def gather(self) -> None:
        """Has those that are new run where their cpuset is. The caller holds the lock."""
        if self._hierarchy is None:
            return
        if not self._affinities.follows:
            self._kernel.membership.affinities = self._affinities
            self._affinities.follows = True
            self._seen = set()
        membership, cgroups = self._hierarchy.membership, list(self._hierarchy.root.descendants())
        self._hierarchy.prune(*(cgroup for cgroup in cgroups if cgroup.tasks))
        there: set[int] = set()
        for cgroup in cgroups:
            new = [tid for tid in cgroup.tasks if not is_simulated(tid)]
            there.update(new)
            css = cgroup.effective_css("cpuset")
            if isinstance(css, Cpuset) and membership.affinities is not None:
                for tid in new:
                    if tid not in self._seen:
                        self._affinities.set(tid, self._affinity(tid, css))
        self._seen = there
        self.idle = not there

    def _affinity(self, tid: int, css: Cpuset) -> Affinity:
        """What a thread has that is new here, or is known already."""
        found = self._affinities.of(tid)
        if self._affinities.is_told(tid):
            return found
        if affinities.mapped(found.mask, self._affinities.below) == affinities.mapped(
            css.effective_cpus, self._affinities.below
        ):
            found = Affinity(css.effective_cpus)  # its parent had it, which is gone
        return of_new_task(css, found)

    def look(self) -> float:
        """Finds who has asked for other CPUs. Returns the seconds until the next look."""
        if not self._affinities.follows:
            with self._lock:
                self.gather()
        if self._kept:
            return _LONGEST
        began = time.thread_time()
        strays = self._affinities.strays()
        if strays:
            with self._lock:
                for tid, mask in strays:
                    self._bring_back(tid, mask)
        return max(_LONGEST, _SPARING * (time.thread_time() - began))

    def _bring_back(self, tid: int, mask: int) -> None:
        """Answers a sched_setaffinity(2) that nobody has trapped."""
        cpuset = self._kernel.cpuset_of(tid)
        now, cpus = self._affinities.of(tid), self._kernel.cpus
        try:
            now = affinities.asked(now, mask, cpuset, cpus, self._kernel.personality)
        except OSError:
            pass  # it would have been refused
        self._affinities.set(tid, now)

    def release(self) -> None:
        """Has everybody run where they have asked to. The caller holds the lock."""
        self._affinities.let_go()
        self._affinities.follows = False
        if not self._kept:
            self._kernel.membership.affinities = None
            self._affinities.forget()
