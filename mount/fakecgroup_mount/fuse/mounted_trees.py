"""The trees that are mounted in this mount namespace, each with its daemon, whether or not that answers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from errno import EACCES, ENOENT, ENOTCONN, ENOTDIR
from functools import partial

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.fuse.about import DAEMON_XATTR, TREE_XATTR, TreeFacts
from fakecgroup_mount.fuse.daemons import find_daemon, is_stopped
from fakecgroup_mount.host.child_call import ChildCall
from fakecgroup_mount.host.mountinfo import Mount, mounts
from fakecgroup_mount.host.usage import stat_of

SERVES = "serves"
STOPPED = "stopped"
"""The daemon is stopped by a signal."""
SILENT = "silent"
"""The daemon does not answer."""
DEAD = "dead"
"""The daemon has ended."""
PRIVATE = "private"
"""We may not ask: another user mounted it, or a directory on the way is closed to us."""
COVERED = "covered"
"""Another mount lies over it."""

_AT_ONCE = 0.5  # seconds in which a daemon answers that has nothing else to do
_PATIENCE = 10.0  # seconds for all of them, on a busy machine
_STATES = {ENOTCONN: DEAD, EACCES: PRIVATE, ENOENT: COVERED, ENOTDIR: COVERED}  # by the errno of a question
_START_TIME = 19  # in what `stat_of` gives: field 22 of proc_pid_stat(5)


class MountedTree(NamedTuple):
    """A mount. What nobody could tell is None; `since` is when the daemon started, in seconds since the epoch."""

    path: str
    state: str
    pid: int | None = None
    since: float | None = None
    facts: TreeFacts | None = None


def mounted_trees() -> list[MountedTree]:
    """The mounts in the order of /proc/self/mountinfo. It takes 10 seconds at most, however silent the daemons are.

    Raises MountError where no process can be started to ask them.
    """
    table = list(mounts())
    uppermost = {mount.point: mount.number for mount in table}
    with ExitStack() as stack:
        asked = [
            (mount, _asked(mount, stack) if uppermost[mount.point] == mount.number else None)
            for mount in table
            if mount.ours
        ]
        return list(_answered(asked))


def _asked(mount: Mount, stack: ExitStack) -> ChildCall:
    return stack.enter_context(closing(ChildCall(partial(_ask, mount.point))))


def _ask(point: str) -> bytes:
    """In a process of its own: what the daemon of the mount there says. Raises OSError."""
    device = os.stat(point).st_dev
    said: dict[str, object] = {"device": f"{os.major(device)}:{os.minor(device)}"}
    for name in (DAEMON_XATTR, TREE_XATTR):
        try:
            said[name] = os.getxattr(point, name).decode()
        except OSError:
            pass  # a part of a tree, or a tree of an older daemon
    return json.dumps(said).encode()


def _answered(asked: list[tuple[Mount, ChildCall | None]]) -> Iterator[MountedTree]:
    """Each mount with the answer to its question, or with what is known where there is none."""
    start = time.monotonic()
    for mount, question in asked:
        if question is None:
            yield MountedTree(mount.point, COVERED)
            continue
        try:
            said = question.answer(max(start + _AT_ONCE - time.monotonic(), 0))
            if said is None:
                pid = find_daemon(mount)
                if pid is not None and is_stopped(pid):
                    yield MountedTree(mount.point, STOPPED, pid, _started(pid))
                    continue
                said = question.answer(max(start + _PATIENCE - time.monotonic(), 0))
        except OSError as error:
            yield MountedTree(mount.point, _STATES.get(error.errno or 0, SILENT))
            continue
        yield _silent(mount) if said is None else _told(mount, json.loads(said))


def _silent(mount: Mount) -> MountedTree:
    pid = find_daemon(mount)
    return MountedTree(mount.point, SILENT, pid, None if pid is None else _started(pid))


def _told(mount: Mount, said: dict[str, str]) -> MountedTree:
    if said["device"] != mount.device:  # a mount over a directory above it
        return MountedTree(mount.point, COVERED)
    pid = int(said[DAEMON_XATTR]) if DAEMON_XATTR in said else None
    facts = TreeFacts.parse(said[TREE_XATTR].encode()) if TREE_XATTR in said else None
    return MountedTree(mount.point, SERVES, pid, None if pid is None else _started(pid), facts)


def _started(pid: int) -> float | None:
    """When a process started, in seconds since the epoch; None where it is gone."""
    fields = stat_of(pid)
    if not fields:
        return None
    with open("/proc/stat") as file:
        boot = next(int(line.split()[1]) for line in file if line.startswith("btime "))
    return boot + int(fields[_START_TIME]) / os.sysconf("SC_CLK_TCK")
