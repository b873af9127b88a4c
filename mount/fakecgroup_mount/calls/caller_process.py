"""What is done in a thread's stead: with its namespaces, root, working directory, ids and capabilities, and with
arguments that nobody can change any more.

A thread that goes on with a call gives the kernel what is in its memory then, which another may have changed since it
was read. What is asked for once more is not told, so what must not be asked for is done here. Whoever does it is in no
cgroup namespace of the sandbox, and so mounts none of the machine's own cgroups, whatever it is asked.
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

_OF_USERS = "user"
_OTHERS = ("net", "ipc", "mnt")  # those that a mount depends on; the last changes the root
_PID_MAX = Path("/proc/sys/kernel/pid_max")
_MOST = 100  # numbers that are tried


def run_as_caller(call: Call, work: Callable[[], int], *, numbered: bool, place: int | None = None) -> int:
    """What `work` gives: a descriptor, which is then ours, or -1 for none. `numbered` is where it depends on the pid
    namespace; `place` is a descriptor of ours for another working directory. Raises OSError.
    """
    return run_in_child(lambda: _become(call, work, numbered, place))


def _become(call: Call, work: Callable[[], int], numbered: bool, place: int | None) -> int:
    tid = call.tid
    theirs, ours = credentials(tid), credentials(os.getpid())
    root, here = (os.open(f"/proc/{tid}/{name}", os.O_PATH | os.O_CLOEXEC) for name in ("root", "cwd"))
    users = _other(tid, _OF_USERS)
    others = [_other(tid, kind) for kind in _OTHERS]
    pids = _other(tid, "pid") if numbered else None
    highest, levels = int(_PID_MAX.read_text()) - 1, len(nspid(tid)) - 1
    if not call.waits():
        raise refuse(ESRCH)
    for fd in (pids, *others):
        if fd is not None:
            syscalls.set_namespace(fd, 0)
    os.fchdir(root)
    os.chroot(".")
    os.fchdir(here if place is None else place)

    def as_the_thread() -> int:
        take_credentials(theirs, ours, users)
        return work()

    if pids is None:
        return as_the_thread()
    return run_in_child(as_the_thread, lambda: _fork_far_off(highest, levels))


def _fork_far_off(highest: int, levels: int) -> int:
    """A fork whose child takes none of the next numbers in the pid namespaces below ours, as the thread itself would
    take none.
    """
    for number in range(highest, highest - _MOST, -1):
        try:
            return syscalls.fork_as([number] * levels)
        except OSError as error:
            if error.errno != EEXIST:
                break
    return os.fork()


def _other(tid: int, kind: str) -> int | None:
    """A descriptor of the thread's namespace, if that is not ours."""
    path = f"/proc/{tid}/ns/{kind}"
    if os.path.samestat(os.stat(path), os.stat(f"/proc/self/ns/{kind}")):
        return None
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
