"""kill(2) of everybody, which is pid -1: all of the sandbox.

There is no pid namespace, so the kernel would take it to all processes of whoever has started the sandbox. `kill -9
-1`, which is how an init ends a system, would end a user's session, or as root the machine's.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from fakecgroup_mount.seccomp.filter import When
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.namespace_kill import processes_inside
from fakecgroup_mount.seccomp.process import Credentials, credentials, signed, thread_group
from fakecgroup_mount.seccomp.user_namespaces import Namespace, lineage, namespace_of

TRAPPED = {"kill": When(0, -1 & 0xFFFFFFFF)}

_CAP_KILL = 5


def kill_of_everybody(first: int) -> Callable[[Call], Answer]:
    """For the sandbox of the process `first`."""
    sandbox = namespace_of(first)
    return lambda call: _kill(call, sandbox)


def _kill(call: Call, sandbox: Namespace) -> Answer:
    """Always 0, as there are processes outside (kill_something_info). In a pid namespace of its own the kernel itself
    goes no further than that.
    """
    number = signed(call.arguments[1])
    apart = os.stat(f"/proc/{call.tid}/ns/pid").st_ino != os.stat("/proc/self/ns/pid").st_ino
    if apart or not 0 <= number < signal.NSIG or not call.waits():
        return CONTINUE
    caller, own, session = credentials(call.tid), namespace_of(call.tid), os.getsid(call.tid)
    group = thread_group(call.tid)
    for pid, pidfd in processes_inside(sandbox):
        try:
            same_session = number == signal.SIGCONT and os.getsid(pid) == session
            if pid != group and (same_session or _may_kill(caller, own, pid)):
                signal.pidfd_send_signal(pidfd, number)
        except OSError:
            pass  # it has ended
        finally:
            os.close(pidfd)
    return 0


def _may_kill(caller: Credentials, own: Namespace, pid: int) -> bool:
    """Whether the caller, whose user namespace is `own`, may signal a process (kill_ok_by_cred). Raises OSError."""
    real, _, saved, _ = credentials(pid).uids
    if {real, saved} & {*caller.uids[:2]}:
        return True
    return bool(caller.capabilities >> _CAP_KILL & 1) and own in lineage(pid)
