"""The daemon behind a mount: finds it, tells whether it is stopped, ends it."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.fuse.about import DAEMON_XATTR
from fakecgroup_mount.fuse.fuse_mount import DEVICE
from fakecgroup_mount.hints import quoted, shown
from fakecgroup_mount.host.child_call import call_in_child
from fakecgroup_mount.host.mountinfo import Mount, mounts
from fakecgroup_mount.host.usage import stat_of

_PATIENCE = 30.0  # seconds for an answer, on a busy machine
_LAST_CHANCE = 3.0  # seconds for a signalled daemon to end by itself


def daemon_of(mount: Mount) -> int | None:
    """Asks the mount for the pid of its daemon; None for a dead daemon. Raises MountError if the daemon does not
    answer.
    """
    try:
        said = call_in_child(lambda: os.getxattr(mount.point, DAEMON_XATTR), _PATIENCE, lambda: refuse_stopped(mount))
    except OSError:
        return None
    if said is None:
        raise _silent(mount, "does not answer", find_daemon(mount))
    return int(said)


def refuse_stopped(mount: Mount) -> None:
    """Raises MountError if the daemon of a mount is stopped."""
    pid = find_daemon(mount)
    if pid is not None and is_stopped(pid):
        raise _silent(mount, "is stopped", pid)


def _silent(mount: Mount, how: str, pid: int | None) -> MountError:
    who = f"its daemon (pid {pid}) {how}" if pid else f"its daemon {how}"
    cont = f"kill -CONT {pid} lets it go on; " if pid else ""
    return MountError(f"{shown(mount.point)}: {who}: {cont}fakecgroup umount --force {quoted(mount.point)} ends it")


def find_daemon(mount: Mount) -> int | None:
    """Finds the pid of a mount's daemon in /proc, without using the mount; None if it cannot be told.

    /proc/PID/fdinfo has `fuse_connection` since Linux 6.16 or so. On an older kernel this is the one stopped process
    that has /dev/fuse open.
    """
    connection = mount.device.partition(":")[2]
    unclear = []
    for pid, found in _holders():
        if found == connection:
            return pid
        if found is None and is_stopped(pid):
            unclear.append(pid)
    return unclear[0] if len(unclear) == 1 else None


def _holders() -> Iterator[tuple[int, str | None]]:
    """Each process with an open /dev/fuse that we may inspect, and its connection where fdinfo has it."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        yield from ((int(name), connection) for connection in _connections(int(name)))


def _connections(pid: int) -> list[str | None]:
    """The connection of each /dev/fuse that a process has open; None where fdinfo does not have it."""
    found: list[str | None] = []
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{fd}") == DEVICE:
                with open(f"/proc/{pid}/fdinfo/{fd}") as file:
                    fields = dict(line.split(":", 1) for line in file if ":" in line)
                found.append(fields["fuse_connection"].strip() if "fuse_connection" in fields else None)
    except OSError:
        pass
    return found


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal or a debugger."""
    return stat_of(pid)[:1] in (["T"], ["t"])


def end(mount: Mount, pid: int) -> None:
    """Ends the daemon of a mount with SIGTERM (and SIGCONT, for a stopped one), else with SIGKILL.

    Raises MountError if the process does not serve the mount or may not be signalled.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not _serves(pid, mount):
            raise MountError(f"{shown(mount.point)}: process {pid} does not serve it, and is left alone")
        for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGKILL):
            signal.pidfd_send_signal(pidfd, number)
            if number != signal.SIGTERM and has_ended(pidfd, _LAST_CHANCE):
                return
        raise MountError(f"its daemon (pid {pid}) was killed and has not ended yet")
    except ProcessLookupError:
        return
    except PermissionError:
        raise MountError(f"its daemon (pid {pid}) is another user's") from None
    finally:
        os.close(pidfd)


def _serves(pid: int, mount: Mount) -> bool:
    """Whether a process serves a mount. Where fdinfo does not tell, a process of our own with /dev/fuse open passes."""
    found = _connections(pid)
    if mount.device.partition(":")[2] in found:
        return True
    return None in found and os.stat(f"/proc/{pid}").st_uid == os.geteuid()


def has_ended(pidfd: int, patience: float) -> bool:
    """Whether the process behind a pidfd ends within `patience` seconds."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(patience * 1000))


def elsewhere(mount: Mount) -> str | None:
    """Says where else a mount is visible: its path, and the mount namespace if it is another one. None if it is not
    visible elsewhere, or we may not look.
    """
    known: set[str] = set()
    for pid in ("self", *filter(str.isdecimal, os.listdir("/proc"))):
        try:
            namespace = os.readlink(f"/proc/{pid}/ns/mnt")
            if namespace in known:
                continue
            known.add(namespace)
            for other in mounts(pid):
                if other.device == mount.device:
                    inside = "" if pid == "self" else f" in the mount namespace of process {pid}"
                    return f"at {quoted(other.point)}{inside}"
        except OSError:
            continue
    return None
