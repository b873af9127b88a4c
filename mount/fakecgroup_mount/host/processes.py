"""The processes of this machine, as the model asks for them: /proc, and a pidfd for each one that it watches.

A child starts in its parent's cgroups at the time of the fork (the kernel's css_set). There are two ways to learn of a
fork. Where the kernel sends fork events (`fork_events`), `fork_tracker` follows them. Elsewhere, and after lost events,
each process in a cgroup carries a mark that its children inherit (`fork_marks`); `new_pids` finds the new processes and
`inherited_marks` decides which of them were forked in a cgroup. docs/explanation/processes.md lists what this misses.

A frozen process is stopped with SIGSTOP. Its parent sees that, and anyone's SIGCONT resumes it. The daemon resumes it
and restores its limits when it ends. After SIGKILL to the daemon, `freeze_watchdog` resumes it; the limits stay.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from errno import EINVAL, ESRCH
from functools import partial
from typing import TYPE_CHECKING

from fakecgroup import CpuTime, CpuUse, End, Faults, Kernel, MemoryUse, ProcessMemory, TaskInfo
from fakecgroup_mount.host import usage
from fakecgroup_mount.host.exit_events import ExitEvents
from fakecgroup_mount.host.exit_tracker import ExitTracker
from fakecgroup_mount.host.fork_events import ForkEvents
from fakecgroup_mount.host.fork_marks import LOCKS, ForkMarks, Limit
from fakecgroup_mount.host.fork_tracker import ForkTracker
from fakecgroup_mount.host.freeze_watchdog import FreezeObserver
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.inherited_marks import ForkedProcess, InheritedMarks, born_with
from fakecgroup_mount.host.new_pids import NewPids
from fakecgroup_mount.host.polled_processes import PolledProcesses
from fakecgroup_mount.host.shortage import is_shortage, may_keep
from fakecgroup_mount.host.timerfd import TimerFd
from fakecgroup_mount.host.usage import Usage, stat_of

if TYPE_CHECKING:
    from fakecgroup.tasks.place import Places

PF_KTHREAD = 0x00200000  # include/linux/sched.h
PF_NO_SETAFFINITY = 0x04000000
NO_PIDFD = -1
_INIT = 1
_KTHREADD = 2
_PATIENCE, _PAUSE = 1.0, 0.0005  # seconds for processes to stop, and between two looks whether they have
_STOPPING = 50_000_000  # ns on a CPU, after which a thread does not stop soon


class HostProcesses:
    """`fakecgroup.Processes` over /proc.

    `watched` maps each process in a cgroup to its pidfd, or to NO_PIDFD when the descriptor limit is reached. `exits`
    is an epoll of these pidfds. A transport waits on it beside its requests and then calls `report`.

    Uids are the model's (`IdMap.model_uid`). `never_frozen` processes are not stopped. `inside` tells which processes
    can neither see nor set marks. `listen_to_forks` and `listen_to_exits` open the kernel's event sources, or return
    None where the kernel does not allow it; exits are listened to only together with forks.
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
        self.watched: dict[int, int] = {}  # tgid -> pidfd; the same dict for good
        self._pidfds: dict[int, int] = {}  # pidfd -> tgid
        self._tids: dict[int, set[int]] = {}  # tgid -> the threads that the model may know, for a watched process
        self._polled = PolledProcesses()  # those that there is no pidfd for
        self.dead: set[int] = set()  # those of the watched that have exited and are zombies
        self._untold: set[int] = set()  # of these, those whose exit the model could not be told of yet
        self._look_timer = TimerFd()
        self.exits = select.epoll()
        self.exits.register(self._look_timer.fd, select.EPOLLIN)
        self.exits.register(self._polled.timer.fd, select.EPOLLIN)
        self._listen_to_forks = listen_to_forks
        self._forks: ForkTracker | None = None
        self._listen_to_exits = listen_to_exits
        self._exits: ExitTracker | None = None
        self._last_exits: list[End] = []  # what was told before nobody was followed any more
        self._begun = False  # whether forks are followed
        self._numbers = NewPids()
        self._marks = ForkMarks()
        self._inherited = InheritedMarks(self._marks, inside)
        self._found: dict[int, Places] = {}  # those that `forked` was not able to tell of yet
        self._child_marks: dict[int, bool] = {}  # mark -> whether a child has it
        self._exited: set[int] = set()  # those of the watched that have exited, and of whom `report` does not know yet
        self._restless: set[int] = set()  # those of the watched that may have threads which come and go untold
        self._frozen: set[int] = set()  # those that we have stopped
        self._observer = observer  # is told of them
        self._never_frozen = {_INIT, os.getpid(), *never_frozen}
        self._usage = Usage()

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
            tid, int(fields[b"Tgid"]), self._model_uid.get(uid, uid), self._model_uid.get(suid, suid), zombie, movable
        )

    def threads(self, tgid: int) -> list[int]:
        """The live threads of a process; a leader that has exited before the others is not among them."""
        try:
            tids = [int(name) for name in os.listdir(f"/proc/{tgid}/task")]
        except (FileNotFoundError, ProcessLookupError):
            if tgid not in self.watched:
                self._marks.forget(tgid)
            return []
        live = [tid for tid in tids if tid != tgid or _state(tgid) not in ("Z", "X", "")]
        if tgid in self._tids:
            self._tids[tgid].update(live)
            if live == [tgid] and tgid not in self._polled:
                self._restless.discard(tgid)
            else:
                self._restless.add(tgid)
        return live

    def changing(self, tgids: Collection[int]) -> Iterable[int]:
        """Those with several threads, those that have just exited, and those that we cannot watch."""
        self._find_exited()
        if not self._begun:
            return tgids
        told, stirred = self._tids, self._restless | self._exited | self.dead
        return [tgid for tgid in tgids if tgid in stirred or tgid not in told]

    def all(self) -> list[int]:
        """The processes that live, if only by a thread; zombies left out."""
        tgids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        return [tgid for tgid in tgids if _state(tgid) not in ("Z", "X", "") or self.threads(tgid)]

    def newest(self) -> int:
        """The last field of /proc/loadavg (proc(5))."""
        with open("/proc/loadavg", "rb", buffering=0) as file:
            return int(file.read(256).rsplit(maxsplit=1)[1])

    def watch(self, tgid: int) -> None:
        """Takes a pidfd of the process, or looks at it now and then where there may be no more open files.

        One that is gone already is found gone when next looked at.
        """
        if tgid in self.dead:
            self._unwatch(tgid)  # its number is in use again
        elif tgid in self.watched:
            return
        pidfd = self._pidfd(tgid)
        if pidfd is None or (pidfd == NO_PIDFD and not self._polled.add(tgid)):
            return
        self.watched[tgid] = pidfd
        if pidfd != NO_PIDFD:
            self._pidfds[pidfd] = tgid
        self._restless.add(tgid)
        self._tids[tgid] = {tgid}
        self.threads(tgid)

    def _pidfd(self, tgid: int) -> int | None:
        """One that `exits` has; NO_PIDFD where there may be no more; None where the process is gone."""
        try:
            pidfd = os.pidfd_open(tgid)
        except OSError as error:
            if error.errno in (ESRCH, EINVAL):  # the second: it is being reaped
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

    def kill(self, tgid: int) -> None:
        """SIGKILL; no error where the process has just gone or may not be killed by the mounter."""
        self._signal(tgid, signal.SIGKILL)

    def _signal(self, tgid: int, number: int) -> None:
        try:
            pidfd = self.watched.get(tgid, NO_PIDFD)
            if pidfd != NO_PIDFD:
                signal.pidfd_send_signal(pidfd, number)
            elif tgid not in self._polled or not self._polled.is_reaped(tgid):
                os.kill(tgid, number)
        except (ProcessLookupError, PermissionError):
            pass

    # -- forks ------------------------------------------------------------------------------------

    def follow(self, tgid: int, places: Places | None) -> None:
        """Gives the process a mark of its own for `places`, or with None its own limit back."""
        self._child_marks.pop(self._marks.now.get(tgid, 0), None)
        if places is not None:
            self._begin()
            self._inherited.note(tgid, places)
        if self._forks is not None:
            self._forks.move(tgid, places)
        self._marks.give(tgid, places)

    def follow_thread(self, tid: int, places: Places | None) -> None:
        """What the thread forks from now on starts there; None: where its leader's does. The kernel must tell of it."""
        if self._forks is not None:
            self._forks.move_thread(tid, places)

    def _begin(self) -> None:
        """Before the first process is followed."""
        if not self._begun:
            events = self._listen_to_forks()
            self._forks = None if events is None else ForkTracker(events)
            ends = None if events is None else self._listen_to_exits()
            self._exits = None if ends is None else ExitTracker(ends)
            self._numbers.start()
            self._restless.update(self._tids)
            self._begun = True

    def _stop(self) -> None:
        """When nobody is followed any more."""
        self._begun = False
        if self._forks is not None:
            self._forks.close()
            self._forks = None
        if self._exits is not None:
            self._last_exits += self._exits.take()
            self._exits.close()
            self._exits = None

    def own_limit(self, tid: int) -> Limit:
        """RLIMIT_LOCKS as a thread's process has set it itself. Raises OSError."""
        soft, hard = resource.prlimit(tid, LOCKS)
        known = self._marks.known(soft)
        return (soft, hard) if known is None else known.limit

    def set_own_limit(self, tgid: int, limit: Limit) -> None:
        """A process that is known has this RLIMIT_LOCKS from now on, and is followed as before. Raises OSError."""
        soft, hard = resource.prlimit(tgid, LOCKS)
        known = self._marks.known(soft)
        self._begin()
        self._marks.put(tgid, None if known is None else known.places, limit, hard)

    def mark_next_child(self, tgid: int, places: Places) -> int:
        """Gives the process a mark for a child that starts in `places`, until it is told to `follow` others; returns
        the mark.
        """
        self._begin()
        hard = resource.prlimit(tgid, LOCKS)[1]
        self._marks.put(tgid, places, self.own_limit(tgid), hard)
        mark = self._marks.now.get(tgid, 0)
        self._child_marks[mark] = False
        return mark

    def child_places(self, tid: int) -> Places | None:
        """Where a child would be that a thread's process forks now; None for the roots. Nothing is searched."""
        try:
            mark = self._marks.read(tid)
        except (ProcessLookupError, PermissionError):
            return None
        return None if mark is None else mark.places

    def is_inherited(self, mark: int) -> bool:
        """Whether a child is known that was forked with this mark, which was lent."""
        return self._child_marks.get(mark, False)

    def forked(self) -> list[tuple[TaskInfo, Places]]:
        """Those that were forked in a cgroup and that the model does not know, by the time of their start.

        Nothing is done while nobody is followed. What fails for a shortage is found again.
        """
        if not self._begun:
            return []
        self._find_exited()
        if self._forks is None:
            self._judge_new()
        else:
            self._take_told(self._forks)
        tasks = self._take_found() if self._found else []
        if self._marks.forget_old():
            self._inherited.forget_all_but(self._marks.places())
        if not (self._marks or self._forks):
            self._stop()
        return tasks

    def _take_found(self) -> list[tuple[TaskInfo, Places]]:
        """Those that are still there; they get a mark of their own."""
        found = [(self.find(tgid), tgid, places) for tgid, places in self._found.items()]
        self._found = {}
        for task, tgid, places in found:
            if task is not None:
                self._marks.give(tgid, places)
                continue
            self._marks.forget(tgid)
            if self._forks is not None:
                self._forks.ended(tgid)
            if self._exits is not None:
                self._exits.passed(tgid, places)
        return [(task, places) for task, _, places in found if task is not None]

    def ended(self) -> Iterable[End] | None:
        """`Processes.ended`; asked of the kernel together with forks alone."""
        last, self._last_exits = self._last_exits, []
        return last or None if self._exits is None else last + self._exits.take()

    def _judge_new(self) -> None:
        """By their marks."""
        try:
            self._admit(self._inherited.judge(self._new()))
        except BaseException:
            self._numbers.start_anew()
            raise

    def _take_told(self, forks: ForkTracker) -> None:
        for tgid, places in forks.take():
            if tgid not in self._tids:
                self._found[tgid] = places
            elif tgid in self._exited or tgid in self.dead or tgid in self._polled:
                forks.put_back(tgid, places)  # until the other one of this number is gone
        self._restless.update(tgid for tgid in forks.take_threads() if tgid in self._tids)
        try:
            self._admit(self._inherited.judge(self._siblings(forks.take_strangers()), siblings=True))
            if forks.lost:
                forks.start_anew(self._found.keys() | self._tids.keys() - self._exited - self.dead)
                self._restless.update(self._tids)
                self._judge_new()
        except BaseException:
            forks.lose()
            raise

    def _admit(self, forked: Iterable[ForkedProcess]) -> None:
        for tgid, places in forked:
            if places is None:
                self._marks.give(tgid, None)
                continue
            self._found[tgid] = places
            if self._forks is not None:
                self._forks.move(tgid, places)

    def _siblings(self, strangers: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Children of others that have a mark of ours all the same, and which."""
        for tgid in strangers:
            try:
                mark = born_with(tgid)
            except ProcessLookupError:
                continue
            if mark is not None and self._marks.known(mark) is not None and tgid not in self._tids:
                yield tgid, mark

    def _new(self) -> Iterator[tuple[int, int]]:
        """The processes that came since the last look and have a mark of ours, and which. New threads are noted."""
        numbers, told_of_threads = self._numbers.take()
        if not told_of_threads:
            self._restless.update(self._tids)
        for tid in numbers:
            if tid in self._found:
                continue
            if tid in self._tids:
                if tid in self._exited or tid in self.dead or tid in self._polled:
                    self._numbers.put_back(tid)  # it may be another already
                continue
            try:
                mark = born_with(tid)
            except ProcessLookupError:
                self._numbers.put_back(tid)
                continue
            self._numbers.settle(tid)
            tgid = _leader(tid)
            if tgid != tid:
                if tgid in self._tids:
                    self._restless.add(tgid)
            elif mark is not None and self._marks.known(mark) is not None and self._marks.now.get(tid) != mark:
                if mark in self._child_marks:
                    self._child_marks[mark] = True
                yield tid, mark

    def _find_exited(self) -> None:
        for pidfd, _ in self.exits.poll(0):
            if pidfd in self._pidfds:
                self._exited.add(self._pidfds[pidfd])

    # -- freezing ---------------------------------------------------------------------------------

    def freeze(self, tgid: int, frozen: bool) -> None:
        """SIGSTOP, and later SIGCONT.

        This process, init, `never_frozen` processes and kernel threads are not stopped. A process that someone else had
        stopped before stays stopped.
        """
        if not frozen:
            if tgid in self._frozen:
                self._signal(tgid, signal.SIGCONT)
                self._thawed(tgid)  # only now: whoever finds it stopped before shall know why
            return
        if tgid in self._frozen or tgid in self._never_frozen:
            return
        stat = stat_of(tgid)
        if stat and stat[0] not in ("T", "t", "Z", "X") and not int(stat[_FLAGS]) & PF_KTHREAD:
            self._frozen.add(tgid)
            if self._observer is not None and tgid in self.watched:
                self._observer.add(tgid, self.watched[tgid], stat[_START])
            self._signal(tgid, signal.SIGSTOP)

    def _thawed(self, tgid: int) -> None:
        if tgid in self._frozen:
            self._frozen.remove(tgid)
            if self._observer is not None:
                self._observer.remove(tgid)

    def settle_stopped(self, tgids: Iterable[int]) -> bool:
        """`Processes.settle_stopped`: a fork that was under way when the signal came ends first.

        Each thread stops when it gets a CPU, for which it may wait long on a busy machine.
        """
        deadline = time.monotonic() + _PATIENCE
        stopped = True
        for tgid in self._frozen.intersection(tgids):
            for tid in self.threads(tgid):
                begun = None
                while _state(tid) == "R":
                    begun = usage.thread_cpu(tid) if begun is None else begun
                    if time.monotonic() > deadline or usage.thread_cpu(tid) - begun > _STOPPING:
                        stopped = False
                        break
                    time.sleep(_PAUSE)
        return stopped

    def release(self) -> None:
        """Lets all processes be as they would be without us: at the end of the daemon."""
        for tgid in list(self._frozen):
            self.freeze(tgid, False)
        self.forked()
        for tgid in list(self._marks.now):
            self.follow(tgid, None)
        self._stop()

    # -- what they use ----------------------------------------------------------------------------

    def cpu(self, tgid: int, *, exact: bool = False) -> CpuUse | None:
        return self._usage.cpu(tgid, exact=exact)

    def thread_cpu(self, tid: int) -> int:
        return usage.thread_cpu(tid)

    def memory(self, tgid: int) -> ProcessMemory:
        return self._usage.memory(tgid)

    def machine_cpu(self) -> Sequence[CpuTime]:
        return usage.machine_cpu()

    def machine_memory(self) -> MemoryUse:
        return usage.machine_memory()

    def machine_faults(self) -> Faults:
        return usage.machine_faults()

    def wake(self, seconds: float | None) -> None:
        """`exits` is ready in this time too, and `report` then looks."""
        self._look_timer.set(seconds or 0)

    # -- exits ------------------------------------------------------------------------------------

    def report(self, kernel: Kernel) -> None:
        """Tells `kernel` of every watched process that has exited or was reaped; does not wait.

        It hears of their children first, so that a cgroup does not look empty when only a parent has gone.
        Linux 6.18 wakes `exits` for the second too (EPOLLHUP). Where a kernel does not, only a look tells: while there
        are `dead`, call this before each request and now and then.
        """
        ready = {fd for fd, _ in self.exits.poll(0)}
        exited = [self._pidfds[fd] for fd in ready & self._pidfds.keys()]
        if self._polled.timer.fd in ready:
            exited += self._polled.exited(lambda tgid: bool(self.threads(tgid)))
        for tgid in exited:
            if tgid not in self.dead:
                self.dead.add(tgid)
                self._exited.discard(tgid)
                self._untold.add(tgid)
                if self.watched[tgid] != NO_PIDFD:
                    self.exits.modify(self.watched[tgid], 0)
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
            for tid in self._tids[tgid]:
                kernel.task_exited(tid)
        except Exception as error:
            if is_shortage(error):
                raise
            self._untold.discard(tgid)
            raise
        self._untold.discard(tgid)

    def _tell_reaped(self, kernel: Kernel, tgid: int) -> None:
        pidfd = self.watched[tgid]
        gone = self._polled.is_reaped(tgid) if pidfd == NO_PIDFD else _is_reaped(pidfd)
        if gone and tgid not in self._untold:
            self._unwatch(tgid)
            kernel.task_reaped(tgid)

    def _unwatch(self, tgid: int) -> None:
        self.dead.discard(tgid)
        self._untold.discard(tgid)
        self._exited.discard(tgid)
        self._restless.discard(tgid)
        if self._forks is not None:
            self._forks.ended(tgid)
        self._thawed(tgid)
        self._marks.forget(tgid)
        del self._tids[tgid]
        pidfd = self.watched.pop(tgid)
        self._polled.discard(tgid)
        if pidfd == NO_PIDFD:
            return
        del self._pidfds[pidfd]
        self.exits.unregister(pidfd)  # closing does it only where nobody else has it
        os.close(pidfd)


def _try_all(tries: Iterable[Callable[[], None]]) -> None:
    """Each is done, whatever becomes of the others; then the first exception is raised again."""
    failed: Exception | None = None
    for attempt in tries:
        try:
            attempt()
        except Exception as error:
            failed = failed or error
    if failed is not None:
        raise failed


def _is_reaped(pidfd: int) -> bool:
    """Whether the process behind a pidfd is gone, and no zombie any more."""
    try:
        signal.pidfd_send_signal(pidfd, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


_FLAGS, _START = 6, 19  # in what `stat_of` gives: the 9th and 22nd field


def _state(tid: int) -> str:
    """The state letter of /proc/TID/stat; "" for no such thread."""
    try:
        with open(f"/proc/{tid}/stat", "rb", buffering=0) as file:
            return file.read(512).rpartition(b")")[2][1:2].decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _leader(tid: int) -> int:
    """The process of a thread; 0 where it is gone."""
    try:
        os.close(os.pidfd_open(tid))
    except OSError as error:
        if error.errno == ESRCH:
            return 0
    else:
        return tid  # only a leader has such a descriptor
    try:
        with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
            status = file.read(1024)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(status[status.index(b"\nTgid:") + 6 :].split(maxsplit=1)[0])


def _is_bound(tid: int) -> bool:
    """Whether a kernel thread must stay in the root (kernel/cgroup/cgroup.c, cgroup_procs_write_start)."""
    if tid == _KTHREADD:
        return True
    stat = stat_of(tid)
    return bool(stat) and bool(int(stat[_FLAGS]) & PF_NO_SETAFFINITY)
