"""sched_setaffinity(2), sched_getaffinity(2): the CPUs of the stated machine, within the task's cpuset.

The thread runs on CPUs of the real machine, which those that it asks for are mapped to.
"""

from __future__ import annotations

from errno import EPERM, ESRCH

from fakecgroup.controllers.cpuset.css import Cpuset
from fakecgroup.controllers.cpuset.tasks import of_new_task
from fakecgroup.credentials.capability import Capability
from fakecgroup.outside import affinities
from fakecgroup.tasks.affinity import Affinity
from fakecgroup_mount.calls.caller_credentials import is_capable
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.host.affinities import HostAffinities
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import credentials, signed

_EFFECTIVE = 1  # the index of the effective uid
_LENGTH = 0xFFFFFFFF  # an unsigned int


class SchedAffinityCalls:
    """Answers from what is `known`, which cpusets change too."""

    def __init__(self, tree: MountedTree, processes: HostProcesses, known: HostAffinities) -> None:
        self._tree = tree
        self._processes = processes
        self._known = known
        self._kernel = tree.kernel

    def sched_setaffinity(self, call: Call) -> Answer:
        """Raises EFAULT, ESRCH, EPERM, EINVAL in the kernel's order (sched_setaffinity)."""
        length = min(call.arguments[1] & _LENGTH, affinities.mask_size(self._kernel.machine.cpus))
        mask = int.from_bytes(call.memory.read(call.tid, call.arguments[2], length), "little") if length else 0
        tid = _thread(call)
        if not self._may_set(call.tid, tid):
            return -EPERM
        cpuset, cpus = self._cpuset(tid), self._kernel.cpus
        with self._tree.lock:
            asked = affinities.asked(self._now(tid, cpuset), mask, cpuset, cpus, self._kernel.personality)
        if not call.waits():
            return CONTINUE
        with self._tree.lock:
            self._known.ask(tid, asked)
        return 0

    def sched_getaffinity(self, call: Call) -> Answer:
        """Raises EINVAL, ESRCH, EFAULT in the kernel's order (sched_getaffinity)."""
        size = affinities.read_size(self._kernel.machine.cpus, call.arguments[1] & _LENGTH)
        shown = self.affinity(_thread(call)).mask & self._kernel.cpus.online
        if not call.waits():
            return CONTINUE
        call.memory.write(call.tid, call.arguments[2], shown.to_bytes(size, "little"))
        return size

    def affinity(self, tid: int) -> Affinity:
        """The CPUs that a thread may use. Raises ESRCH."""
        cpuset = self._cpuset(tid)
        with self._tree.lock:
            return self._now(tid, cpuset)

    def _now(self, tid: int, cpuset: Cpuset | None) -> Affinity:
        """The affinity of a thread, which may be a new one. Raises OSError if there is no such thread."""
        found = self._known.find(tid)
        if cpuset is None or self._known.is_told(tid):
            return found
        new = of_new_task(cpuset, found)
        if new != found:
            self._known.set(tid, new)
        return new

    def mems(self, tid: int) -> int:
        """The NUMA nodes of a thread's cpuset, as a mask. Raises ESRCH."""
        cpuset, every = self._cpuset(tid), (1 << self._kernel.machine.numa_nodes) - 1
        return (every if cpuset is None else cpuset.effective_mems) or every

    def _cpuset(self, tid: int) -> Cpuset | None:
        """Raises ESRCH if there is no such thread."""
        places = self._tree.places(tid)
        if places is None:
            raise ProcessLookupError(ESRCH, "no such process")
        found = (cgroup.effective_css("cpuset") for cgroup in places)
        return next((css for css in found if isinstance(css, Cpuset)), None)

    def _may_set(self, caller: int, target: int) -> bool:
        """Whether a thread may set another's affinity (check_same_owner, cap_safe_nice). Raises OSError."""
        own, other = credentials(caller).uids[_EFFECTIVE], credentials(target).uids[:2]
        privileges = self._processes.privileges
        same = own in other and not privileges(target).permitted & ~privileges(caller).permitted
        return caller == target or same or is_capable(caller, Capability.SYS_NICE, target)


def _thread(call: Call) -> int:
    """The thread that a call is about. Raises ESRCH."""
    number = signed(call.arguments[0])
    if number == 0:
        return call.tid
    tid = pid_namespace_of(call.tid).tid(number) if number > 0 else 0
    if not tid:
        raise ProcessLookupError(ESRCH, "no such process")
    return tid
