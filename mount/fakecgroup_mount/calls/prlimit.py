"""prlimit(2), setrlimit(2), getrlimit(2) of RLIMIT_LOCKS: a program sees and sets a limit of its own.

The kernel's soft limit is the mark that children inherit (`host.fork_marks`).
"""

from __future__ import annotations

import re
from errno import EINVAL, EPERM, ESRCH
from pathlib import Path
from struct import Struct

from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.host.fork_marks import Limit
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import Credentials, credentials, signed, thread_group
from fakecgroup_mount.seccomp.user_namespaces import lineage, namespace_of

_RLIMIT = Struct("=QQ")  # struct rlimit64
_INFINITY = 2**64 - 1
_CAP_SYS_RESOURCE = 24
_SHOWN = re.compile(rb"^Max file locks .*$", re.MULTILINE)


class PrlimitCalls:
    """Of processes of the sandbox, which have the user namespace of process `first` or one below it."""

    def __init__(self, tree: MountedTree, processes: HostProcesses, first: int) -> None:
        self._tree = tree
        self._processes = processes
        self._sandbox = namespace_of(first)

    def prlimit64(self, call: Call) -> Answer:
        """Raises EFAULT, ESRCH, EPERM, EINVAL in the kernel's order (prlimit64, do_prlimit)."""
        pid, _, new, old = call.arguments[:4]
        wanted = _RLIMIT.unpack(call.memory.read(call.tid, new, _RLIMIT.size)) if new else None
        number = signed(pid)
        tid = pid_namespace_of(call.tid).tid(number) if number > 0 else 0 if number else call.tid
        try:
            if tid != call.tid and not (tid and _may_limit(credentials(call.tid), credentials(tid))):
                return -EPERM if tid else -ESRCH
            if self._is_strange(tid):
                return CONTINUE
        except OSError:
            return -ESRCH
        return self._limit(call, tid, wanted, old)

    def _is_strange(self, tid: int) -> bool:
        """Whether a process is neither of the sandbox nor in one of its cgroups. Raises OSError."""
        try:
            return self._processes.child_places(tid) is None and self._sandbox not in lineage(tid)
        except PermissionError:  # it is in a user namespace above
            return True

    def setrlimit(self, call: Call) -> Answer:
        wanted = _RLIMIT.unpack(call.memory.read(call.tid, call.arguments[1], _RLIMIT.size))
        return self._limit(call, call.tid, wanted, 0)

    def getrlimit(self, call: Call) -> Answer:
        return self._limit(call, call.tid, None, call.arguments[1])

    def _limit(self, call: Call, tid: int, wanted: Limit | None, old: int) -> Answer:
        with self._tree.lock:
            before = self._own(tid)
            if wanted is not None:
                if wanted[0] > wanted[1]:
                    return -EINVAL
                if wanted[1] > before[1]:
                    return -EPERM
                if not call.waits():
                    return CONTINUE
                self._tree.kernel.membership.adopt_forked()  # it may not be known yet
                self._processes.set_own_limit(thread_group(tid), (_signed(wanted[0]), _signed(wanted[1])))
        if old:
            if not call.waits():
                return CONTINUE
            call.memory.write(call.tid, old, _RLIMIT.pack(*before))
        return 0

    def _own(self, tid: int) -> Limit:
        soft, hard = self._processes.own_limit(tid)
        return soft & _INFINITY, hard & _INFINITY

    def text(self, pid: int, reader: int) -> bytes:
        """/proc/PID/limits (proc_pid_limits). Raises OSError."""
        text = Path(f"/proc/{pid}/limits").read_bytes()
        with self._tree.lock:
            limit = self._own(pid)
        soft, hard = ("unlimited" if value == _INFINITY else str(value) for value in limit)
        return _SHOWN.sub(f"{'Max file locks':25} {soft:20} {hard:20} locks     ".encode(), text)


def _signed(value: int) -> int:
    """A limit as Python's own functions have it, to which the largest is -1."""
    return value - (1 << 64) if value >> 63 else value


def _may_limit(caller: Credentials, target: Credentials) -> bool:
    """Whether it may see and set the other's limits (check_prlimit_permission)."""
    same = {caller.uids[0]} == {*target.uids[:3]} and {caller.gids[0]} == {*target.gids[:3]}
    return same or bool(caller.capabilities >> _CAP_SYS_RESOURCE & 1)
