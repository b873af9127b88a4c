"""The processes in a cgroup, each with a pidfd that tells of its exit (pidfd_open(2))."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from errno import EINVAL, ESRCH

from fakecgroup_mount.host import tasks
from fakecgroup_mount.host.polled_processes import PolledProcesses
from fakecgroup_mount.host.shortage import is_shortage, may_keep

NO_PIDFD = -1


class WatchedProcesses:
    """`pidfds` maps each process to its pidfd, or to NO_PIDFD at the limit of descriptors. `exits` is an epoll of them.

    The dictionaries and sets stay the same objects.
    """

    def __init__(self) -> None:
        self.pidfds: dict[int, int] = {}  # tgid -> pidfd
        self.exits = select.epoll()
        self.polled = PolledProcesses()  # those with NO_PIDFD
        self.exits.register(self.polled.timer.fd, select.EPOLLIN)
        self.tids: dict[int, set[int]] = {}  # tgid -> all threads that the model may know
        self.restless: set[int] = set()  # processes with threads that may come and go without an event
        self.exited: set[int] = set()  # processes that have exited, before `take_exits` has given them
        self.dead: set[int] = set()  # processes that have exited and are zombies
        self._tgids: dict[int, int] = {}  # pidfd -> tgid

    def add(self, tgid: int) -> None:
        """Watches a process. One that is already gone is found gone at the next look."""
        pidfd = self._open(tgid)
        if pidfd is None or (pidfd == NO_PIDFD and not self.polled.add(tgid)):
            return
        self.pidfds[tgid] = pidfd
        if pidfd != NO_PIDFD:
            self._tgids[pidfd] = tgid
        self.restless.add(tgid)
        self.tids[tgid] = {tgid}
        live = tasks.live_threads(tgid)
        if live is not None:
            self.note_threads(tgid, live)

    def _open(self, tgid: int) -> int | None:
        """A pidfd in `exits`; NO_PIDFD at the limit of descriptors; None if the process is gone."""
        try:
            pidfd = os.pidfd_open(tgid)
        except OSError as error:
            if error.errno in (ESRCH, EINVAL):  # EINVAL: it is being reaped
                return None
            if is_shortage(error):
                return NO_PIDFD
            raise
        try:
            if may_keep(pidfd):
                self.exits.register(pidfd, select.EPOLLIN)
                return pidfd
        except OSError as error:
            if not is_shortage(error):
                raise
        os.close(pidfd)
        return NO_PIDFD

    def remove(self, tgid: int) -> None:
        """Stops watching a process."""
        self.dead.discard(tgid)
        self.exited.discard(tgid)
        self.restless.discard(tgid)
        del self.tids[tgid]
        pidfd = self.pidfds.pop(tgid)
        self.polled.discard(tgid)
        if pidfd == NO_PIDFD:
            return
        del self._tgids[pidfd]
        self.exits.unregister(pidfd)  # close(2) does so only for the last duplicate
        os.close(pidfd)

    def note_threads(self, tgid: int, live: list[int]) -> None:
        """The process, if it is watched, has these live threads."""
        if tgid in self.tids:
            self.tids[tgid].update(live)
            if live == [tgid] and tgid not in self.polled:
                self.restless.discard(tgid)
            else:
                self.restless.add(tgid)

    def open(self, tgid: int) -> int:
        """A pidfd of a watched process, for the caller to close.

        Raises ProcessLookupError if it is gone, OSError at the limit of descriptors.
        """
        pidfd = self.pidfds.get(tgid)
        if pidfd is None:
            raise ProcessLookupError(ESRCH, "no such process")
        if pidfd != NO_PIDFD:
            return os.dup(pidfd)
        pidfd = os.pidfd_open(tgid)
        try:
            self.polled.require(tgid)
        except OSError:
            os.close(pidfd)
            raise
        return pidfd

    def signal(self, tgid: int, number: int) -> None:
        """Sends a signal. No error if the process is gone or the mounter may not signal it."""
        try:
            pidfd = self.pidfds.get(tgid, NO_PIDFD)
            if pidfd != NO_PIDFD:
                signal.pidfd_send_signal(pidfd, number)
            elif tgid not in self.polled or not self.polled.is_reaped(tgid):
                os.kill(tgid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def may_be_reused(self, tgid: int) -> bool:
        """Whether the pid of a watched process may be another process's by now."""
        return tgid in self.exited or tgid in self.dead or tgid in self.polled

    def find_exited(self) -> None:
        """Adds the processes that have exited to `exited`."""
        for pidfd, _ in self.exits.poll(0):
            if pidfd in self._tgids:
                self.exited.add(self._tgids[pidfd])

    def take_exits(self, ready: set[int]) -> Iterator[int]:
        """The processes that have exited since the last call, by the ready descriptors of `exits`. They are `dead`."""
        exited = [self._tgids[fd] for fd in ready & self._tgids.keys()]
        if self.polled.timer.fd in ready:
            exited += self.polled.exited(lambda tgid: bool(tasks.live_threads(tgid)))
        for tgid in exited:
            if tgid not in self.dead:
                self.dead.add(tgid)
                self.exited.discard(tgid)
                yield tgid
                if self.pidfds[tgid] != NO_PIDFD:
                    self.exits.modify(self.pidfds[tgid], 0)

    def is_reaped(self, tgid: int) -> bool:
        """Whether a dead process is no zombie any more."""
        pidfd = self.pidfds[tgid]
        if pidfd == NO_PIDFD:
            return self.polled.is_reaped(tgid)
        try:
            signal.pidfd_send_signal(pidfd, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False
