"""The processes of this machine, as the model asks for them.

`tasks` and `usage` read /proc, `watched_processes` hears of exits, `fork_follower` finds forks, `freezer` stops and
resumes. The daemon resumes all frozen processes and restores all limits when it ends. After SIGKILL to the daemon,
`freeze_watchdog` resumes the processes; the limits stay.
"""

from __future__ import annotations

import select
import signal
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from fakecgroup import CpuTime, CpuUse, End, Faults, Kernel, MemoryUse, ProcessMemory, TaskInfo
from fakecgroup_mount.host import tasks, usage
from fakecgroup_mount.host.exit_events import ExitEvents
from fakecgroup_mount.host.fork_events import ForkEvents
from fakecgroup_mount.host.fork_follower import ForkFollower
from fakecgroup_mount.host.fork_marks import Limit
from fakecgroup_mount.host.freeze_watchdog import FreezeObserver
from fakecgroup_mount.host.freezer import Freezer
from fakecgroup_mount.host.huge_pages import HugePageUse
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.shortage import is_shortage
from fakecgroup_mount.host.taken_pages import TakenPages
from fakecgroup_mount.host.timerfd import TimerFd
from fakecgroup_mount.host.usage import Usage
from fakecgroup_mount.host.watched_processes import WatchedProcesses

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places


class HostProcesses:
    """`fakecgroup.Processes` over /proc.

    `watched` has the pidfd of each process in a cgroup, `dead` those that are zombies. `exits` is an epoll of the
    pidfds: a transport waits on it beside its requests and then calls `report`.

    Uids are the model's (`IdMap.model_uid`). `observer` and `never_frozen` are the `Freezer`'s, the other parameters
    the `ForkFollower`'s.
    """

    def __init__(
        self,
        ids: IdMap,
        observer: FreezeObserver | None = None,
        *,
        never_frozen: frozenset[int] = frozenset(),
        inside: Callable[[int], bool] = lambda tgid: False,
        listen_to_forks: Callable[[], ForkEvents | None] = lambda: None,
        listen_to_exits: Callable[[], ExitEvents | None] = lambda: None,
    ) -> None:
        self._model_uid = ids.model_uid
        self.privileges = ids.mounter.privileges
        self._watched = WatchedProcesses()
        self.watched, self.dead, self.exits = self._watched.pidfds, self._watched.dead, self._watched.exits
        self._untold: set[int] = set()  # dead processes whose exit the model could not be told yet
        self._look_timer = TimerFd()
        self.exits.register(self._look_timer.fd, select.EPOLLIN)
        self._freezer = Freezer(self._watched, observer, never_frozen)
        self._forks = ForkFollower(self._watched, self.find, inside, listen_to_forks, listen_to_exits)
        self._usage = Usage()
        self.taken = TakenPages()
        """What a kernel that enforces limits would have taken from processes."""

    def find(self, tid: int) -> TaskInfo | None:
        """The thread `tid`; None if it is gone."""
        status = tasks.status_of(tid)
        if status is None:
            return None
        tgid, uid, saved_uid, zombie, movable = status
        model_uid = self._model_uid
        return TaskInfo(tid, tgid, model_uid.get(uid, uid), model_uid.get(saved_uid, saved_uid), zombie, movable)

    def threads(self, tgid: int) -> list[int]:
        """The live threads of a process, without a leader that has exited before the others."""
        live = tasks.live_threads(tgid)
        if live is None:
            if tgid not in self.watched:
                self._forks.forget_mark(tgid)
            return []
        self._watched.note_threads(tgid, live)
        return live

    def changing(self, tgids: Collection[int]) -> Iterable[int]:
        """The processes with several threads, those that have just exited, and those that are not watched."""
        self._watched.find_exited()
        if not self._forks.begun:
            return tgids
        watched = self._watched
        stirred = watched.restless | watched.exited | self.dead
        return [tgid for tgid in tgids if tgid in stirred or tgid not in watched.tids]

    def all(self) -> list[int]:
        """The processes with a live thread."""
        return [tgid for tgid in tasks.processes() if tasks.is_live(tgid) or self.threads(tgid)]

    def newest(self) -> int:
        """The last pid that was given out."""
        return tasks.newest_pid()

    def watch(self, tgid: int) -> None:
        """Watches a process. One that is already gone is found gone at the next look."""
        if tgid in self.dead:
            self._unwatch(tgid)  # its pid is in use again
        if tgid not in self.watched:
            self._watched.add(tgid)

    def _unwatch(self, tgid: int) -> None:
        self._untold.discard(tgid)
        self._forks.forget(tgid)
        self._freezer.forget(tgid)
        self.taken.forget(tgid)
        self._watched.remove(tgid)

    def open(self, tgid: int) -> int:
        """A pidfd of a watched process, for the caller to close.

        Raises ProcessLookupError if it is gone, OSError at the limit of descriptors.
        """
        return self._watched.open(tgid)

    def kill(self, tgid: int) -> None:
        """Sends SIGKILL. No error if the process is gone or the mounter may not kill it."""
        self._watched.signal(tgid, signal.SIGKILL)

    def release(self) -> None:
        """Resumes all processes and gives them their own limits back. Called at the end of the daemon."""
        self._freezer.thaw_all()
        self._forks.release()

    # -- forks ------------------------------------------------------------------------------------

    def follow(self, tgid: int, places: Places | None) -> None:
        """`ForkFollower.follow`."""
        self._forks.follow(tgid, places)

    def follow_thread(self, tid: int, places: Places | None) -> None:
        """`ForkFollower.follow_thread`."""
        self._forks.follow_thread(tid, places)

    def own_limit(self, tid: int) -> Limit:
        """`ForkFollower.own_limit`. Raises OSError."""
        return self._forks.own_limit(tid)

    def set_own_limit(self, tgid: int, limit: Limit) -> None:
        """`ForkFollower.set_own_limit`. Raises OSError."""
        self._forks.set_own_limit(tgid, limit)

    def mark_next_child(self, tgid: int, places: Places) -> int:
        """`ForkFollower.mark_next_child`."""
        return self._forks.mark_next_child(tgid, places)

    def is_inherited(self, mark: int) -> bool:
        """`ForkFollower.is_inherited`."""
        return self._forks.is_inherited(mark)

    def child_places(self, tid: int) -> Places | None:
        """`ForkFollower.child_places`."""
        return self._forks.child_places(tid)

    def forked(self) -> list[tuple[TaskInfo, Places]]:
        """`ForkFollower.forked`."""
        return self._forks.forked()

    def ended(self) -> Iterable[End] | None:
        """`ForkFollower.ended`."""
        return self._forks.ended()

    # -- freezing ---------------------------------------------------------------------------------

    def freeze(self, tgid: int, frozen: bool) -> None:
        """`Freezer.freeze`."""
        self._freezer.freeze(tgid, frozen)

    def hold(self, tgid: int, why: object) -> None:
        """`Freezer.hold`."""
        self._freezer.hold(tgid, why)

    def hold_again(self, tgid: int) -> None:
        """`Freezer.hold_again`."""
        self._freezer.hold_again(tgid)

    def let_go(self, tgid: int, why: object) -> None:
        """`Freezer.let_go`."""
        self._freezer.let_go(tgid, why)

    def settle_stopped(self, tgids: Iterable[int]) -> bool:
        """`Freezer.settle`."""
        return self._freezer.settle(tgids)

    # -- what they use ----------------------------------------------------------------------------

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        return self._usage.cpu(tgid, exact=exact)

    def thread_cpu(self, tid: int) -> int:
        return usage.thread_cpu(tid)

    def memory(self, tgid: int) -> ProcessMemory:
        return self.taken.left(tgid, self._usage.memory(tgid))

    def resident(self, tgid: int) -> int:
        return usage.resident(tgid)

    def count_huge_pages(self) -> None:
        """Counts huge pages of hugetlb from now on."""
        self._usage.huge_pages = HugePageUse()

    def machine_cpu(self) -> Sequence[CpuTime]:
        return usage.machine_cpu()

    def machine_memory(self) -> MemoryUse:
        return usage.machine_memory()

    def machine_faults(self) -> Faults:
        return usage.machine_faults()

    def wake(self, seconds: float | None) -> None:
        """Makes `exits` ready in this time, so that `report` looks at what is used. None cancels it."""
        self._look_timer.set(seconds or 0)

    # -- exits ------------------------------------------------------------------------------------

    def report(self, kernel: Kernel) -> None:
        """Tells `kernel` of each watched process that has exited or was reaped. Does not wait.

        The model first adopts their children, so that a cgroup does not look empty when only a parent has exited.
        Linux 6.18 makes `exits` ready for a reaped process too (EPOLLHUP). An older kernel does not: while there are
        `dead` processes, call this before each request and about once a second.
        """
        ready = {fd for fd, _ in self.exits.poll(0)}
        for tgid in self._watched.take_exits(ready):
            self._untold.add(tgid)
        tries = [kernel.membership.adopt_forked] if self._untold else []
        if self._look_timer.fd in ready:
            self._look_timer.clear()
            tries.insert(0, kernel.look)
        tries += [partial(self._tell_exit, kernel, tgid) for tgid in self._untold]
        tries += [partial(self._tell_reaped, kernel, tgid) for tgid in self.dead]
        _try_all(tries)

    def _tell_exit(self, kernel: Kernel, tgid: int) -> None:
        """What fails for a shortage is tried again at the next report."""
        try:
            for tid in self._watched.tids[tgid]:
                kernel.task_exited(tid)
        except Exception as error:
            if is_shortage(error):
                raise
            self._untold.discard(tgid)
            raise
        self._untold.discard(tgid)

    def _tell_reaped(self, kernel: Kernel, tgid: int) -> None:
        if self._watched.is_reaped(tgid) and tgid not in self._untold:
            self._unwatch(tgid)
            kernel.task_reaped(tgid)


def _try_all(tries: Iterable[Callable[[], None]]) -> None:
    """Calls each, even if others fail. Then raises the first exception."""
    failed: Exception | None = None
    for attempt in tries:
        try:
            attempt()
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise failed
