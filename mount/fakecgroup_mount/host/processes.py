"""The processes of this machine, as the model asks for them: /proc, and a pidfd for each one that it watches.

A child starts where its parent is; one forked before a move is where its parent was then (the kernel's css_set). Some
are told of forks by the kernel (`told_forks`). For the others, and when it could not tell of all, a process in a cgroup
carries a mark, which its children inherit (`marks`); those who are new (`new_numbers`) are judged by it (`newcomers`).
docs/processes.md says what this cannot follow.

A frozen process is stopped with SIGSTOP: its parent hears of it, and a SIGCONT from anyone lets it go on. The end of
the daemon continues it and gives limits back; after SIGKILL limits stay, and whoever was told (`Frozen`) continues it.
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
from fakecgroup_mount.host.alarm import Alarm
from fakecgroup_mount.host.fork_events import ForkEvents
from fakecgroup_mount.host.frozen import Keeper
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.marks import LOCKS, Limit, Marks
from fakecgroup_mount.host.new_numbers import NewNumbers
from fakecgroup_mount.host.newcomers import Newcomer, Newcomers, born_with
from fakecgroup_mount.host.polled import Polled
from fakecgroup_mount.host.shortage import is_shortage, may_keep
from fakecgroup_mount.host.task_ends import TaskEnds
from fakecgroup_mount.host.told_ends import ToldEnds
from fakecgroup_mount.host.told_forks import ToldForks
from fakecgroup_mount.host.usage import Usage, stat_of

if TYPE_CHECKING:
    from fakecgroup.tasks.processes import Places

PF_KTHREAD = 0x00200000  # include/linux/sched.h
PF_NO_SETAFFINITY = 0x04000000
NO_PIDFD = -1
_INIT = 1
_KTHREADD = 2
_PATIENCE, _PAUSE = 1.0, 0.0005  # seconds for processes to stop, and between two looks whether they have
_STOPPING = 50_000_000  # ns on a CPU, after which a thread does not stop soon


class HostProcesses:
    """`fakecgroup.Processes` over /proc.

    `watched` has a pidfd for each process in a cgroup, or NO_PIDFD where there may be no more of them; `exits` is an
    epoll of them, for a transport to wait on beside its requests: when it is ready, `report` tells the model. Uids are
    those of the model (`IdMap.played_uid`). Who is `spared` is never frozen. `inside` says which processes cannot touch
    marks; `listen` opens the kernel's events, None where there are none for us; with them, `listen_to_ends` what it
    tells of the ends of tasks.
    """

    def __init__(
        self,
        ids: IdMap,
        kept: Keeper | None = None,
        *,
        spared: frozenset[int] = frozenset(),
        inside: Callable[[int], bool] = lambda tgid: False,
        listen: Callable[[], ForkEvents | None] = lambda: None,
        listen_to_ends: Callable[[], TaskEnds | None] = lambda: None,
    ) -> None:
        self._played = ids.played_uid
        self.privileges = ids.mounter.privileges
        self.watched: dict[int, int] = {}  # tgid -> pidfd; the same dict for good
        self._pidfds: dict[int, int] = {}  # pidfd -> tgid
        self._tids: dict[int, set[int]] = {}  # tgid -> the threads that the model may know, for a watched process
        self._polled = Polled()  # those that there is no pidfd for
        self.dead: set[int] = set()  # those of the watched that have exited and are zombies
        self._untold: set[int] = set()  # of these, those whose exit the model could not be told of yet
        self._alarm = Alarm()
        self.exits = select.epoll()
        self.exits.register(self._alarm.fd, select.EPOLLIN)
        self.exits.register(self._polled.alarm.fd, select.EPOLLIN)
        self._listen = listen
        self._told: ToldForks | None = None
        self._listen_to_ends = listen_to_ends
        self._ends: ToldEnds | None = None
        self._last_ends: list[End] = []  # what was told before nobody was followed any more
        self._begun = False  # whether forks are followed
        self._numbers = NewNumbers()
        self._marks = Marks()
        self._newcomers = Newcomers(self._marks, inside)
        self._found: dict[int, Places] = {}  # those that `forked` was not able to tell of yet
        self._lent: dict[int, bool] = {}  # mark -> whether a child has it
        self._exited: set[int] = set()  # those of the watched that have exited, and of whom `report` does not know yet
        self._restless: set[int] = set()  # those of the watched that may have threads which come and go untold
        self._frozen: set[int] = set()  # those that we have stopped
        self._kept = kept  # is told of them
        self._spared = {_INIT, os.getpid(), *spared}
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
            tid, int(fields[b"Tgid"]), self._played.get(uid, uid), self._played.get(suid, suid), zombie, movable
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
        self._lent.pop(self._marks.now.get(tgid, 0), None)
        if places is not None:
            self._begin()
            self._newcomers.note(tgid, places)
        if self._told is not None:
            self._told.move(tgid, places)
        self._marks.give(tgid, places)

    def follow_thread(self, tid: int, places: Places | None) -> None:
        """What the thread forks from now on starts there; None: where its leader's does. The kernel must tell of it."""
        if self._told is not None:
            self._told.move_thread(tid, places)

    def _begin(self) -> None:
        """Before the first process is followed."""
        if not self._begun:
            events = self._listen()
            self._told = None if events is None else ToldForks(events)
            ends = None if events is None else self._listen_to_ends()
            self._ends = None if ends is None else ToldEnds(ends)
            self._numbers.start()
            self._restless.update(self._tids)
            self._begun = True

    def _stop(self) -> None:
        """When nobody is followed any more."""
        self._begun = False
        if self._told is not None:
            self._told.close()
            self._told = None
        if self._ends is not None:
            self._last_ends += self._ends.take()
            self._ends.close()
            self._ends = None

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

    def lend(self, tgid: int, places: Places) -> int:
        """Gives the process a mark for a child that starts in `places`, until it is told to `follow` others; returns
        the mark.
        """
        self._begin()
        hard = resource.prlimit(tgid, LOCKS)[1]
        self._marks.put(tgid, places, self.own_limit(tgid), hard)
        mark = self._marks.now.get(tgid, 0)
        self._lent[mark] = False
        return mark

    def heir_places(self, tid: int) -> Places | None:
        """Where a child would be that a thread's process forks now; None for the roots. Nothing is searched."""
        try:
            mark = self._marks.read(tid)
        except (ProcessLookupError, PermissionError):
            return None
        return None if mark is None else mark.places

    def has_passed_on(self, mark: int) -> bool:
        """Whether a child is known that was forked with this mark, which was lent."""
        return self._lent.get(mark, False)

    def forked(self) -> list[tuple[TaskInfo, Places]]:
        """Those that were forked in a cgroup and that the model does not know, by the time of their start.

        Nothing is done while nobody is followed. What fails for a shortage is found again.
        """
        if not self._begun:
            return []
        self._find_exited()
        if self._told is None:
            self._judge_new()
        else:
            self._take_told(self._told)
        tasks = self._take_found() if self._found else []
        if self._marks.forget_old():
            self._newcomers.forget_all_but(self._marks.places())
        if not (self._marks or self._told):
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
            if self._told is not None:
                self._told.ended(tgid)
            if self._ends is not None:
                self._ends.passed(tgid, places)
        return [(task, places) for task, _, places in found if task is not None]

    def ended(self) -> Iterable[End] | None:
        """`Processes.ended`; asked of the kernel together with forks alone."""
        last, self._last_ends = self._last_ends, []
        return last or None if self._ends is None else last + self._ends.take()

    def _judge_new(self) -> None:
        """By their marks."""
        try:
            self._admit(self._newcomers.judge(self._new()))
        except BaseException:
            self._numbers.start_anew()
            raise

    def _take_told(self, told: ToldForks) -> None:
        for tgid, places in told.take():
            if tgid not in self._tids:
                self._found[tgid] = places
            elif tgid in self._exited or tgid in self.dead or tgid in self._polled:
                told.put_back(tgid, places)  # until the other one of this number is gone
        self._restless.update(tgid for tgid in told.take_threads() if tgid in self._tids)
        try:
            self._admit(self._newcomers.judge(self._siblings(told.take_strangers()), siblings=True))
            if told.lost:
                told.start_anew(self._found.keys() | self._tids.keys() - self._exited - self.dead)
                self._restless.update(self._tids)
                self._judge_new()
        except BaseException:
            told.lose()
            raise

    def _admit(self, newcomers: Iterable[Newcomer]) -> None:
        for tgid, places in newcomers:
            if places is None:
                self._marks.give(tgid, None)
                continue
            self._found[tgid] = places
            if self._told is not None:
                self._told.move(tgid, places)

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
                if mark in self._lent:
                    self._lent[mark] = True
                yield tid, mark

    def _find_exited(self) -> None:
        for pidfd, _ in self.exits.poll(0):
            if pidfd in self._pidfds:
                self._exited.add(self._pidfds[pidfd])

    # -- freezing ---------------------------------------------------------------------------------

    def freeze(self, tgid: int, frozen: bool) -> None:
        """SIGSTOP, and later SIGCONT.

        Never for this process, init, one that is spared, or a kernel thread; one that was stopped before by someone
        else stays so after.
        """
        if not frozen:
            if tgid in self._frozen:
                self._signal(tgid, signal.SIGCONT)
                self._thawed(tgid)  # only now: whoever finds it stopped before shall know why
            return
        if tgid in self._frozen or tgid in self._spared:
            return
        stat = stat_of(tgid)
        if stat and stat[0] not in ("T", "t", "Z", "X") and not int(stat[_FLAGS]) & PF_KTHREAD:
            self._frozen.add(tgid)
            if self._kept is not None and tgid in self.watched:
                self._kept.add(tgid, self.watched[tgid], stat[_START])
            self._signal(tgid, signal.SIGSTOP)

    def _thawed(self, tgid: int) -> None:
        if tgid in self._frozen:
            self._frozen.remove(tgid)
            if self._kept is not None:
                self._kept.remove(tgid)

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
        self._alarm.set(seconds or 0)

    # -- exits ------------------------------------------------------------------------------------

    def report(self, kernel: Kernel) -> None:
        """Tells `kernel` of every watched process that has exited or was reaped; does not wait.

        It hears of their children first, so that a cgroup does not look empty when only a parent has gone.
        Linux 6.18 wakes `exits` for the second too (EPOLLHUP). Where a kernel does not, only a look tells: while there
        are `dead`, call this before each request and now and then.
        """
        ready = {fd for fd, _ in self.exits.poll(0)}
        exited = [self._pidfds[fd] for fd in ready & self._pidfds.keys()]
        if self._polled.alarm.fd in ready:
            exited += self._polled.exited(lambda tgid: bool(self.threads(tgid)))
        for tgid in exited:
            if tgid not in self.dead:
                self.dead.add(tgid)
                self._exited.discard(tgid)
                self._untold.add(tgid)
                if self.watched[tgid] != NO_PIDFD:
                    self.exits.modify(self.watched[tgid], 0)
        tries = [kernel.membership.adopt_forked] if self._untold else []
        if self._alarm.fd in ready:
            self._alarm.heard()
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
        if self._told is not None:
            self._told.ended(tgid)
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
