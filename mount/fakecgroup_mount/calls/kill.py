"""kill(2), tkill(2), tgkill(2): of a simulated process, and kill of pid -1, every process, which reaches the sandbox.

The sandbox has no pid namespace, so the kernel would signal all processes of the user who started it. `kill -9 -1`, by
which an init ends a system, would end a user's session, or as root the machine's.
"""

from __future__ import annotations

import os
import signal
from errno import EINVAL, EPERM, ESRCH

from fakecgroup import JoinedProcesses
from fakecgroup.credentials.capability import Capability
from fakecgroup.outside.signals import may_signal, signal_simulated
from fakecgroup.tasks.tid import FIRST_SIMULATED
from fakecgroup_mount.calls.caller_credentials import is_capable
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.namespace_kill import processes_inside
from fakecgroup_mount.seccomp.process import credentials, signed, thread_group
from fakecgroup_mount.seccomp.user_namespaces import namespace_of


class KillCalls:
    """Signals the processes of the sandbox of process `first`, and simulated ones."""

    def __init__(self, tree: MountedTree, processes: JoinedProcesses, passing_time: PassingTime, first: int) -> None:
        self._tree = tree
        self._processes = processes
        self._time = passing_time
        self._first = first
        self._sandbox = namespace_of(first)

    def kill(self, call: Call) -> Answer:
        """kill(2)."""
        pid, number = signed(call.arguments[0]), signed(call.arguments[1])
        return self.signal(call, pid, pid, number) if pid >= FIRST_SIMULATED else self._kill_all(call)

    def tkill(self, call: Call) -> Answer:
        """tkill(2)."""
        tid = signed(call.arguments[0])
        return self.signal(call, tid, tid, signed(call.arguments[1]))

    def tgkill(self, call: Call) -> Answer:
        """tgkill(2)."""
        tgid, tid, number = map(signed, call.arguments[:3])
        return self.signal(call, tgid, tid, number)

    def signal(self, call: Call, tgid: int, tid: int, number: int) -> Answer:
        """Raises ESRCH, EINVAL, EPERM in the kernel's order (do_send_specific, check_kill_permission)."""
        uids = credentials(call.tid).uids
        capable = is_capable(call.tid, Capability.KILL, self._first)
        with self._tree.lock:
            self._time.catch_up()
            task = self._processes.find(tid) if self._processes.begun else None
            if task is None or task.tgid != tgid or tid < FIRST_SIMULATED:
                return -ESRCH
            if not 0 <= number < signal.NSIG:
                return -EINVAL
            if not may_signal(number, uids, [task.uid] * 3, same_session=False, capable=capable):
                return -EPERM
            if not call.waits():
                return CONTINUE
            signal_simulated(self._processes, tgid, number)
            self._time.catch_up()
            self._time.changed()
        return 0

    def _kill_all(self, call: Call) -> Answer:
        """Always 0, as there are processes outside (kill_something_info).

        In a pid namespace of its own the kernel itself signals no process outside, so it goes on.
        """
        number = signed(call.arguments[1])
        own_pids = os.stat(f"/proc/{call.tid}/ns/pid").st_ino != os.stat("/proc/self/ns/pid").st_ino
        if own_pids or not 0 <= number < signal.NSIG or not call.waits():
            return CONTINUE
        caller, session, group = credentials(call.tid), os.getsid(call.tid), thread_group(call.tid)
        for pid, pidfd in processes_inside(self._sandbox):
            try:
                allowed = pid != group and may_signal(
                    number,
                    caller.uids,
                    credentials(pid).uids,
                    same_session=os.getsid(pid) == session,
                    capable=is_capable(call.tid, Capability.KILL, pid),
                )
                if allowed:
                    signal.pidfd_send_signal(pidfd, number)
            except OSError:
                pass  # it has ended
            finally:
                os.close(pidfd)
        self._signal_all_simulated(call.tid, number)
        return 0

    def _signal_all_simulated(self, tid: int, number: int) -> None:
        if not self._processes.begun:
            return
        uids, capable = credentials(tid).uids, is_capable(tid, Capability.KILL, self._first)
        with self._tree.lock:
            self._time.catch_up()
            simulated = self._processes.simulated
            for task in [task for pid in simulated.all() if (task := simulated.find(pid)) is not None]:
                if may_signal(number, uids, [task.uid] * 3, same_session=False, capable=capable):
                    signal_simulated(self._processes, task.tgid, number)
            self._time.catch_up()
            self._time.changed()
