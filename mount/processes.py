"""The processes of this machine, as the model asks for them: /proc, and a pidfd for each one that it watches."""

from __future__ import annotations

import os
import select
import signal
from errno import EMFILE, ENFILE, ESRCH

from fakecgroup import Kernel, TaskInfo

from .idmap import IdMap

PF_NO_SETAFFINITY = 0x04000000  # include/linux/sched.h
_KTHREADD = 2


class HostProcesses:
    """`fakecgroup.Processes` over /proc.

    `watched` has a pidfd for each process in a cgroup; `exits` is an epoll of them, for a transport to wait on beside
    its requests: when it is ready, `report` tells the model. Uids are those of the model (`IdMap.played_uid`).
    """

    def __init__(self, ids: IdMap) -> None:
        self._played = ids.played_uid
        self.watched: dict[int, int] = {}  # tgid -> pidfd; the same dict for good
        self._pidfds: dict[int, int] = {}  # pidfd -> tgid
        self._tids: dict[int, set[int]] = {}  # tgid -> the threads that the model may know, for a watched process
        self.dead: set[int] = set()  # those of the watched that have exited and are zombies
        self.exits = select.epoll()

    def find(self, tid: int) -> TaskInfo | None:
        """The thread `tid`, or None. A kernel thread bound to its CPU, and kthreadd, are not movable."""
        try:
            with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
                status = file.read(4096)
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = dict(line.partition(b":")[::2] for line in status.split(b"\n", 20))
        zombie = fields[b"State"].split()[0] in (b"Z", b"X")
        uid, _, suid, _ = map(int, fields[b"Uid"].split())
        # A user's process has a VmSize line, a zombie and a kernel thread have none.
        movable = zombie or b"\nVmSize:" in status or not _is_bound(tid)
        return TaskInfo(
            tid, int(fields[b"Tgid"]), self._played.get(uid, uid), self._played.get(suid, suid), zombie, movable
        )

    def threads(self, tgid: int) -> list[int]:
        """The live threads of a process; a leader that has exited before the others is not among them."""
        try:
            tids = [int(name) for name in os.listdir(f"/proc/{tgid}/task")]
        except (FileNotFoundError, ProcessLookupError):
            return []
        live = [tid for tid in tids if tid != tgid or _state(tgid) not in ("Z", "X", "")]
        if tgid in self._tids:
            self._tids[tgid].update(live)
        return live

    def all(self) -> list[int]:
        """The processes that live, zombies left out."""
        tgids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        return [tgid for tgid in tgids if _state(tgid) not in ("Z", "X", "")]

    def watch(self, tgid: int) -> None:
        """Takes a pidfd of the process.

        One that is gone already, or one more than there may be open files, is found gone when next looked at.
        """
        if tgid in self.dead:
            self._unwatch(tgid)  # its number is in use again
        elif tgid in self.watched:
            return
        try:
            pidfd = os.pidfd_open(tgid)
        except OSError as error:
            if error.errno in (ESRCH, EMFILE, ENFILE):
                return
            raise
        self.watched[tgid] = pidfd
        self._pidfds[pidfd] = tgid
        self._tids[tgid] = {tgid, *self.threads(tgid)}
        self.exits.register(pidfd, select.EPOLLIN)

    def kill(self, tgid: int) -> None:
        """SIGKILL; no error where the process has just gone or may not be killed by the mounter."""
        try:
            if tgid in self.watched:
                signal.pidfd_send_signal(self.watched[tgid], signal.SIGKILL)
            else:
                os.kill(tgid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def report(self, kernel: Kernel) -> None:
        """Tells `kernel` of every watched process that has exited or was reaped; does not wait.

        Linux 6.18 wakes `exits` for the second too (EPOLLHUP). Where a kernel does not, only a look tells: while there
        are `dead`, call this before each request and now and then.
        """
        for pidfd, _ in self.exits.poll(0):
            tgid = self._pidfds[pidfd]
            if tgid not in self.dead:
                self.dead.add(tgid)
                self.exits.modify(pidfd, 0)
                for tid in self._tids[tgid]:
                    kernel.task_exited(tid)
        for tgid in list(self.dead):
            if _is_reaped(self.watched[tgid]):
                self._unwatch(tgid)
                kernel.task_reaped(tgid)

    def _unwatch(self, tgid: int) -> None:
        self.dead.discard(tgid)
        del self._tids[tgid]
        pidfd = self.watched.pop(tgid)
        del self._pidfds[pidfd]
        os.close(pidfd)


def _is_reaped(pidfd: int) -> bool:
    """Whether the process behind a pidfd is gone, and no zombie any more."""
    try:
        signal.pidfd_send_signal(pidfd, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _state(tid: int) -> str:
    """The state letter of /proc/TID/stat; "" for no such thread."""
    try:
        with open(f"/proc/{tid}/stat", "rb", buffering=0) as file:
            return file.read(512).rpartition(b")")[2][1:2].decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _is_bound(tid: int) -> bool:
    """Whether a kernel thread must stay in the root (kernel/cgroup/cgroup.c, cgroup_procs_write_start)."""
    if tid == _KTHREADD:
        return True
    try:
        with open(f"/proc/{tid}/stat", "rb", buffering=0) as file:
            flags = int(file.read(512).rpartition(b")")[2].split()[6])
    except (FileNotFoundError, ProcessLookupError):
        return False
    return bool(flags & PF_NO_SETAFFINITY)
