"""kill(2) of pid -1, every process: it reaches the sandbox alone.

The sandbox has no pid namespace, so the kernel would signal all processes of the user who started it. `kill -9 -1`, by
which an init ends a system, would end a user's session, or as root the machine's.
"""

from __future__ import annotations

import os
import signal

from fakecgroup.credentials.capability import Capability
from fakecgroup.outside.signals import may_signal
from fakecgroup_mount.calls.caller_credentials import is_capable
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.namespace_kill import processes_inside
from fakecgroup_mount.seccomp.process import credentials, signed, thread_group
from fakecgroup_mount.seccomp.user_namespaces import namespace_of


class KillCall:
    """Signals the processes of the sandbox of process `first`."""

    def __init__(self, first: int) -> None:
        self._sandbox = namespace_of(first)

    def kill(self, call: Call) -> Answer:
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
        return 0
