"""prlimit(2), setrlimit(2), getrlimit(2) of RLIMIT_LOCKS: a program sees and sets a limit of its own.

The kernel's soft limit is the mark that children inherit (`host.fork_marks`).
"""

from __future__ import annotations

from errno import EPERM, ESRCH
from struct import Struct

from fakecgroup.credentials.capability import Capability
from fakecgroup.outside import resource_limits
from fakecgroup.outside.resource_limits import INFINITY, Limit, may_access, with_file_locks
from fakecgroup_mount.calls.caller_credentials import is_capable
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import credentials, signed, thread_group
from fakecgroup_mount.seccomp.user_namespaces import lineage, namespace_of

_RLIMIT = Struct("=QQ")  # struct rlimit64


class PrlimitCalls:
    """The limits of the sandbox's processes: their user namespace is that of process `first`, or one below it."""

    def __init__(self, tree: MountedTree, processes: HostProcesses, first: int) -> None:
        self._tree = tree
        self._processes = processes
        self._sandbox = namespace_of(first)

    def prlimit64(self, call: Call) -> Answer:
        """Raises EFAULT, ESRCH, EPERM, EINVAL in the kernel's order (prlimit64, do_prlimit).

        The kernel itself answers for a process that is not the sandbox's.
        """
        pid, _, new, old = call.arguments[:4]
        wanted = _RLIMIT.unpack(call.memory.read(call.tid, new, _RLIMIT.size)) if new else None
        number = signed(pid)
        tid = call.tid if number == 0 else pid_namespace_of(call.tid).tid(number) if number > 0 else 0
        if not tid:
            return -ESRCH
        try:
            if tid != call.tid and not _may_access(call.tid, tid):
                return -EPERM
            if self._is_outside(tid):
                return CONTINUE
        except OSError:
            return -ESRCH
        return self._limit(call, tid, wanted, old)

    def _is_outside(self, tid: int) -> bool:
        """Whether a process is neither of the sandbox nor in a cgroup of the tree. Raises OSError."""
        try:
            return self._processes.child_places(tid) is None and self._sandbox not in lineage(tid)
        except PermissionError:  # its user namespace is above ours
            return True

    def setrlimit(self, call: Call) -> Answer:
        """Raises EFAULT, EINVAL, EPERM in the kernel's order (setrlimit, do_prlimit)."""
        wanted = _RLIMIT.unpack(call.memory.read(call.tid, call.arguments[1], _RLIMIT.size))
        return self._limit(call, call.tid, wanted, 0)

    def getrlimit(self, call: Call) -> Answer:
        """Raises EFAULT."""
        return self._limit(call, call.tid, None, call.arguments[1])

    def _limit(self, call: Call, tid: int, wanted: Limit | None, old: int) -> Answer:
        """Sets a thread's limit to `wanted` unless that is None, and writes the former one to the address `old`."""
        with self._tree.lock:
            before = self._limit_of(tid)
            if wanted is not None:
                resource_limits.check(before, wanted)
                if not call.waits():
                    return CONTINUE
                self._tree.kernel.membership.adopt_forked()  # the process may not be known yet
                self._processes.set_own_limit(thread_group(tid), (_signed(wanted[0]), _signed(wanted[1])))
        if old:
            if not call.waits():
                return CONTINUE
            call.memory.write(call.tid, old, _RLIMIT.pack(*before))
        return 0

    def _limit_of(self, tid: int) -> Limit:
        soft, hard = self._processes.own_limit(tid)
        return soft & INFINITY, hard & INFINITY

    def text(self, pid: int, reader: int) -> bytes:
        """/proc/PID/limits, the same for every reader. Raises OSError."""
        with open(f"/proc/{pid}/limits", "rb") as file:
            text = file.read()
        with self._tree.lock:
            limit = self._limit_of(pid)
        return with_file_locks(text, limit)


def _may_access(caller: int, target: int) -> bool:
    """Whether one thread may see and set the limits of another. Raises OSError: no such thread."""
    own, other = credentials(caller), credentials(target)
    capable = is_capable(caller, Capability.SYS_RESOURCE, target)
    return may_access(own.uids[0], own.gids[0], other.uids[:3], other.gids[:3], capable=capable)


def _signed(value: int) -> int:
    """A limit for Python's functions, where the largest is -1."""
    return value - (1 << 64) if value >> 63 else value
