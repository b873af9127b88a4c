"""The core's files on a v1 hierarchy (kernel/cgroup/cgroup-v1.c, cgroup1_base_files)."""

from __future__ import annotations

from bisect import bisect_left
from errno import EACCES, EPERM
from typing import TYPE_CHECKING

from ..core.cftype import CFType, Where
from ..core.cgroup import Cgroup
from ..credentials.capability import Capability
from ..parse import strstrip
from ..refuse import refuse
from .attach import attach, find_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..core.file_context import FileContext
    from ..credentials.caller import Caller

_PATH_MAX = 4096
_PIDLIST_DELAY = 1_000_000_000  # ns


def _write_pid(cgroup: Cgroup, text: str, of: FileContext, writer: Caller, threadgroup: bool) -> None:
    task = find_task(cgroup, text, writer, threadgroup)
    if of.opener.uid not in (0, task.uid, task.suid):
        raise refuse(EACCES)
    attach(cgroup, task, threadgroup, writer)


def write_procs(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Move a whole process (__cgroup1_procs_write). Raises EINVAL, ESRCH, EACCES for another user's process."""
    _write_pid(cgroup, text, of, writer, threadgroup=True)


def write_tasks(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Move one thread. Raises what `write_procs` does."""
    _write_pid(cgroup, text, of, writer, threadgroup=False)


def _pidlist(cgroup: Cgroup, of: FileContext, threads: bool) -> Iterator[str]:
    """The sorted pids of the tasks that are visible in the reader's pid namespace (cgroup_pidlist_start).

    A read goes on at the first pid that is not below the file's position.

    A list is kept for 1 s after a read. An open file that has listed pids before reads the kept list again
    (CGROUP_PIDLIST_DESTROY_DELAY).
    """
    now = cgroup.hierarchy.now()
    numbers = of.reader.numbers()
    key = (threads, numbers.namespace)
    pids, expires = cgroup.pidlists.get(key, ((), 0))
    if not of.pidlist or now >= expires:
        members = {tid if threads else tgid for tid, tgid in cgroup.hierarchy.members(cgroup)}
        pids = tuple(sorted({*map(numbers.number, members)} - {0}))
    of.pidlist = True
    cgroup.pidlists = {**cgroup.pidlists, key: (pids, now + _PIDLIST_DELAY)}
    for at in range(bisect_left(pids, of.position), len(pids)):
        of.position = pids[at + 1] if at + 1 < len(pids) else pids[at] + 1
        yield f"{pids[at]}\n"


def start_procs(cgroup: Cgroup, of: FileContext) -> Iterator[str]:
    """Each process with a thread here, sorted by pid."""
    return _pidlist(cgroup, of, threads=False)


def start_tasks(cgroup: Cgroup, of: FileContext) -> Iterator[str]:
    """Each thread here, sorted by tid."""
    return _pidlist(cgroup, of, threads=True)


def read_clone_children(cgroup: Cgroup) -> int:
    return int(cgroup.clone_children)


def write_clone_children(cgroup: Cgroup, value: int) -> None:
    cgroup.clone_children = bool(value)


def read_notify_on_release(cgroup: Cgroup) -> int:
    return int(cgroup.notify_on_release)


def write_notify_on_release(cgroup: Cgroup, value: int) -> None:
    cgroup.notify_on_release = bool(value)


def show_release_agent(cgroup: Cgroup) -> str:
    return cgroup.hierarchy.release_agent + "\n"


def write_release_agent(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Take any path (cgroup_release_agent_write). Raises EPERM if the file was opened without CAP_SYS_ADMIN."""
    if not of.opener.capable(Capability.SYS_ADMIN):
        raise refuse(EPERM)
    cgroup.hierarchy.release_agent = strstrip(text)
    cgroup.hierarchy.release_agent_of = of.opener


def recall_release_agent(cgroup: Cgroup, text: str) -> None:
    """Show an agent that is never run: it is a path of another machine."""
    cgroup.hierarchy.release_agent = text.removesuffix("\n")
    cgroup.hierarchy.release_agent_of = None


def show_sane_behavior(cgroup: Cgroup) -> str:
    return "0\n"


FILES = (
    CFType("cgroup.procs", seq_start=start_procs, write_of=write_procs, again=None),
    CFType("cgroup.clone_children", read_u64=read_clone_children, write_u64=write_clone_children),
    CFType("cgroup.sane_behavior", Where.ROOT, show=show_sane_behavior),
    CFType("tasks", seq_start=start_tasks, write_of=write_tasks, again=None),
    CFType("notify_on_release", read_u64=read_notify_on_release, write_u64=write_notify_on_release),
    CFType(
        "release_agent",
        Where.ROOT,
        show=show_release_agent,
        write_of=write_release_agent,
        max_write=_PATH_MAX - 1,
        by_opener=True,
        again=None,
        recall=recall_release_agent,
    ),
)
