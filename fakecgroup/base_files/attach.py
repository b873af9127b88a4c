"""Moves of tasks: the part of a write to cgroup.procs, cgroup.threads or tasks that both versions share."""

from __future__ import annotations

from errno import EINVAL, ESRCH
from typing import TYPE_CHECKING

from ..parse import kstrtoint, strstrip
from ..refuse import refuse

if TYPE_CHECKING:
    from ..core.cgroup import Cgroup
    from ..credentials.caller import Caller
    from ..tasks.processes import TaskInfo

PID_FILES = frozenset({"cgroup.procs", "cgroup.threads", "tasks"})
"""The files that take the number of a process or thread, and list them, one per line."""


def find_task(cgroup: Cgroup, text: str, writer: Caller, threadgroup: bool) -> TaskInfo:
    """The task that `text` names; with `threadgroup` the leader of its process (cgroup_procs_write_start).

    The number counts in the writer's pid namespace; 0 is the writer. Raises EINVAL for text that is no pid and for a
    kernel thread that must stay, ESRCH if there is no such task.
    """
    try:
        pid = kstrtoint(strstrip(text))
    except OSError:
        pid = -1
    if pid < 0:
        raise refuse(EINVAL)
    cgroup.hierarchy.membership.adopt_forked()  # the task may be new
    processes = cgroup.hierarchy.processes
    tid = writer.numbers().tid(pid) if pid else writer.pid
    task = processes.find(tid) if tid else None
    if task is not None and threadgroup and task.tid != task.tgid:
        task = processes.find(task.tgid)
    if task is None:
        raise refuse(ESRCH)
    if not task.movable:
        raise refuse(EINVAL)
    return task


def attach(cgroup: Cgroup, task: TaskInfo, threadgroup: bool, writer: Caller) -> None:
    """Move a thread, or with `threadgroup` its whole process (cgroup_attach_task). A zombie stays where it was.

    Raises what a controller there refuses tasks with. Then nothing has moved.
    """
    hierarchy = cgroup.hierarchy
    if threadgroup:
        tids = hierarchy.processes.threads(task.tgid)
    elif task.zombie:
        return
    else:
        hierarchy.locate(task)
        tids = [task.tid]
    hierarchy.can_attach(tids, cgroup, writer)
    hierarchy.membership.migrate(tids, task.tgid, cgroup)
