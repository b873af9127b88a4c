"""What children inherit of a process, as far as the kernel tells others of it."""

from __future__ import annotations

import os
import re

_SAME = re.compile(
    r"^(?:Uid|Gid|Groups|Cap\w+|NoNewPrivs|Seccomp\w*|Specul\w+|THP_enabled|TracerPid|\w+_allowed):.*$", re.MULTILINE
)
_FREE = "\nNoNewPrivs:\t0\n"
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts")
_FILES = ("limits", "cgroup", "oom_score_adj", "coredump_filter", "loginuid", "sessionid", "autogroup", "attr/current")


def likeness(pid: int) -> list[object] | None:
    """Ids, capabilities, seccomp filters, namespaces, root, session, limits, cgroups, CPUs, scheduling and labels of a
    process. Two that have the same may start the same.

    None for a process that has given up new privileges (no_new_privs): it may be in a Landlock domain, which nothing
    tells. Raises OSError if it is gone or not ours to read.
    """
    with open(f"/proc/{pid}/status") as file:
        status = file.read()
    if _FREE not in status:
        return None
    root = os.stat(f"/proc/{pid}/root")
    scheduling = (os.sched_getscheduler(pid), os.sched_getparam(pid), os.getpriority(os.PRIO_PROCESS, pid))
    return [
        *_SAME.findall(status),
        *(os.readlink(f"/proc/{pid}/ns/{name}") for name in _NAMESPACES),
        *(_text(pid, name) for name in _FILES),
        (root.st_dev, root.st_ino, os.getsid(pid)),
        scheduling,
    ]


def _text(pid: int, name: str) -> str:
    """A file of /proc/PID; empty where this kernel has none, or no security module."""
    try:
        with open(f"/proc/{pid}/{name}") as file:
            return file.read()
    except OSError:
        return ""
