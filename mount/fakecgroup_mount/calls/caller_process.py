"""A child process that is like the caller makes a call in its stead, with arguments that nobody can change any more.

If the caller itself went on, the kernel would read the arguments from its memory again, where another thread may have
changed them since they were checked. The child has the caller's namespaces, root, working directory, ids and
capabilities. It stays in the daemon's cgroup namespace, so it cannot mount the machine's own cgroups.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EEXIST, ESRCH
from pathlib import Path

from fakecgroup.refuse import refuse
from fakecgroup_mount.calls.caller_credentials import run_in_child, take_credentials
from fakecgroup_mount.host.pid_namespaces import nspid
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.listener import Call
from fakecgroup_mount.seccomp.process import credentials

_USER = "user"
_OTHERS = ("net", "ipc", "mnt")  # a mount depends on them; to enter the last one changes the root
_PID_MAX = Path("/proc/sys/kernel/pid_max")
_MOST = 100  # pids that are tried


def run_as_caller(call: Call, work: Callable[[], int], *, sees_pids: bool, cwd: int | None = None) -> int:
    """The descriptor that `work` gives in the child, or -1 for none. Raises OSError.

    `sees_pids` says that the call depends on the pid namespace. `cwd` is a descriptor of the daemon's for another
    working directory than the caller's.
    """
    return run_in_child(lambda: _become_caller(call, work, sees_pids, cwd))


def _become_caller(call: Call, work: Callable[[], int], sees_pids: bool, cwd: int | None) -> int:
    tid = call.tid
    theirs, ours = credentials(tid), credentials(os.getpid())
    root, here = (os.open(f"/proc/{tid}/{name}", os.O_PATH | os.O_CLOEXEC) for name in ("root", "cwd"))
    users = _other(tid, _USER)
    others = [_other(tid, kind) for kind in _OTHERS]
    pids = _other(tid, "pid") if sees_pids else None
    highest, levels = int(_PID_MAX.read_text()) - 1, len(nspid(tid)) - 1
    if not call.waits():
        raise refuse(ESRCH)
    for fd in (pids, *others):
        if fd is not None:
            syscalls.set_namespace(fd, 0)
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(here if cwd is None else cwd)

    def as_caller() -> int:
        take_credentials(theirs, ours, users)
        return work()

    if pids is None:
        return as_caller()
    return run_in_child(as_caller, lambda: _fork_with_high_pid(highest, levels))


def _fork_with_high_pid(highest: int, levels: int) -> int:
    """Forks a child whose pids in the namespaces below ours are high ones.

    The caller's own call would use none of the next pids, and programs may count on that.
    """
    for number in range(highest, highest - _MOST, -1):
        try:
            return syscalls.fork_as([number] * levels)
        except OSError as error:
            if error.errno != EEXIST:
                break
    return os.fork()


def _other(tid: int, kind: str) -> int | None:
    """A descriptor of the thread's namespace; None if it is the daemon's own."""
    path = f"/proc/{tid}/ns/{kind}"
    if os.path.samestat(os.stat(path), os.stat(f"/proc/self/ns/{kind}")):
        return None
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
