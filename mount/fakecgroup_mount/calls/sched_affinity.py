"""sched_setaffinity(2), sched_getaffinity(2): the CPUs of the stated machine, within the task's cpuset.

The thread runs on CPUs of the real machine, which those that it asks for are mapped to.
"""

from __future__ import annotations

import time
from errno import EPERM, ESRCH

from fakecgroup.controllers.cpuset.css import Cpuset
from fakecgroup.credentials.capability import Capability
from fakecgroup.outside import affinities
from fakecgroup_mount.calls.caller_credentials import is_capable
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.told_affinities import ToldAffinities
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import credentials, signed

_EFFECTIVE = 1  # the index of the effective uid
_LENGTH = 0xFFFFFFFF  # an unsigned int


class SchedAffinityCalls:
    """Keeps what threads ask for in `told`."""

    def __init__(self, tree: MountedTree, told: ToldAffinities) -> None:
        self._tree = tree
        self._told = told
        self._every = (1 << told.cpus) - 1

    def sched_setaffinity(self, call: Call) -> Answer:
        """Raises EFAULT, ESRCH, EPERM, EINVAL in the kernel's order (__sched_setaffinity)."""
        length = min(call.arguments[1] & _LENGTH, affinities.mask_size(self._told.cpus))
        mask = int.from_bytes(call.memory.read(call.tid, call.arguments[2], length), "little") if length else 0
        tid = _thread(call)
        try:
            if not _may_set(call.tid, tid):
                return -EPERM
            allowed = self.allowed(tid)
            kept = affinities.wanted(mask, allowed, self._every)
            if not call.waits():
                return CONTINUE
            runs_on = affinities.mapped(kept & allowed, self._told.real)
            self._told.tell(tid, kept, runs_on, time.clock_gettime_ns(time.CLOCK_BOOTTIME))
        except (FileNotFoundError, ProcessLookupError):
            return -ESRCH
        return 0

    def sched_getaffinity(self, call: Call) -> Answer:
        """Raises EINVAL, ESRCH, EFAULT in the kernel's order (sched_getaffinity)."""
        size = affinities.read_size(self._told.cpus, call.arguments[1] & _LENGTH)
        tid = _thread(call)
        try:
            shown = self.shown(tid)
        except (FileNotFoundError, ProcessLookupError):
            return -ESRCH
        if not call.waits():
            return CONTINUE
        call.memory.write(call.tid, call.arguments[2], shown.to_bytes(size, "little"))
        return size

    def shown(self, tid: int) -> int:
        """The CPUs that a thread may use, as a mask. Raises OSError: there is no such thread."""
        return affinities.shown(self._told.told(tid), self.allowed(tid))

    def allowed(self, tid: int) -> int:
        """The CPUs of a thread's cpuset, as a mask."""
        cpuset = self._cpuset(tid)
        return (self._every if cpuset is None else cpuset.effective_cpus) or self._every

    def mems(self, tid: int) -> int:
        """The NUMA nodes of a thread's cpuset, as a mask."""
        cpuset, every = self._cpuset(tid), (1 << self._tree.kernel.machine.numa_nodes) - 1
        return (every if cpuset is None else cpuset.effective_mems) or every

    def _cpuset(self, tid: int) -> Cpuset | None:
        places = self._tree.places(tid)
        for cgroup in places or ():
            css = cgroup.effective_css("cpuset")
            if isinstance(css, Cpuset):
                return css
        return None


def _thread(call: Call) -> int:
    """The thread that a call is about. Raises ESRCH."""
    number = signed(call.arguments[0])
    if number == 0:
        return call.tid
    tid = pid_namespace_of(call.tid).tid(number) if number > 0 else 0
    if not tid:
        raise ProcessLookupError(ESRCH, "no such process")
    return tid


def _may_set(caller: int, target: int) -> bool:
    """Whether a thread may set another's affinity (check_same_owner, CAP_SYS_NICE). Raises OSError."""
    own, other = credentials(caller).uids[_EFFECTIVE], credentials(target).uids[:2]
    return own in other or is_capable(caller, Capability.SYS_NICE, target)
