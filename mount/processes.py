"""The processes of this machine, as the model asks for them: /proc, and a pidfd for each one that it watches.

Nobody tells a program of another's forks. So a process in a cgroup carries a tag, which its children inherit, and /proc
is searched for tags when the model looks at tasks. The tag is the soft RLIMIT_LOCKS, a limit that Linux has not
enforced since 2.4.25. It says in which cgroups a process was, so a child forked before a move is where its parent was
then (the kernel's css_set). What this cannot follow:

* the children of a program that sets RLIMIT_LOCKS itself (but under `fakecgroup run`), or was started with a hard
  limit of it below a tag;
* the children of other users' processes and of setuid programs, unless the mounter has CAP_SYS_RESOURCE (prlimit(2));
* a thread that is apart from its leader: what it forks starts where the leader is.

A frozen process is stopped with SIGSTOP: its parent hears of it, and a SIGCONT from anyone lets it go on. The end of
the daemon continues it and gives limits back; after SIGKILL limits stay, and whoever was told (`Frozen`) continues it.
"""

from __future__ import annotations

import os
import resource
import secrets
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from errno import EINVAL, ESRCH
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from fakecgroup import CpuTime, CpuUse, Kernel, MemoryUse, ProcessMemory, TaskInfo

from . import usage
from .alarm import Alarm
from .frozen import Frozen
from .idmap import IdMap
from .polled import Polled
from .shortage import is_shortage, may_keep
from .usage import Usage, stat_of

if TYPE_CHECKING:
    from fakecgroup.tasks import Places

PF_KTHREAD = 0x00200000  # include/linux/sched.h
PF_NO_SETAFFINITY = 0x04000000
NO_PIDFD = -1
_INIT = 1
_KTHREADD = 2
LOCKS = 10  # RLIMIT_LOCKS, which the module resource lacks
_UNLIMITED = resource.RLIM_INFINITY
_SEARCHES = 4  # of /proc at most, while processes go away during one
_PATIENCE, _PAUSE = 0.05, 0.0005  # seconds for a process to stop, and between two looks whether it has


Limit = tuple[int, int]  # soft and hard; resource.RLIM_INFINITY is none


class Tag(NamedTuple):
    """What a soft RLIMIT_LOCKS of ours stands for: where a process was, None being the roots, and the limit that it has
    itself, of which the hard one may be lower than what the kernel knows.
    """

    places: Places | None
    limit: Limit


class HostProcesses:
    """`fakecgroup.Processes` over /proc.

    `watched` has a pidfd for each process in a cgroup, or NO_PIDFD where there may be no more of them; `exits` is an
    epoll of them, for a transport to wait on beside its requests: when it is ready, `report` tells the model. Uids are
    those of the model (`IdMap.played_uid`).
    """

    def __init__(self, ids: IdMap, kept: Frozen | None = None) -> None:
        self._played = ids.played_uid
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
        self._tags: dict[int, Tag] = {}
        self._tag_of: dict[Tag, int] = {}
        self._next_tag = count(secrets.randbits(61) + 1)  # so that two daemons do not take each other's
        self._tagged: dict[int, int] = {}  # tgid -> tag, of those that the model knows
        self._frozen: set[int] = set()  # those that we have stopped
        self._kept = kept  # is told of them
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
            return []
        live = [tid for tid in tids if tid != tgid or _state(tgid) not in ("Z", "X", "")]
        if tgid in self._tids:
            self._tids[tgid].update(live)
        return live

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
        self._tids[tgid] = {tgid, *self.threads(tgid)}

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
        """Gives the process the tag of `places`, or with None its own limit back."""
        try:
            soft, hard = resource.prlimit(tgid, LOCKS)
            known = self._tags.get(soft)
            if known is not None or places is not None:
                self._mark(tgid, Tag(places, (soft, hard) if known is None else known.limit), hard)
        except (ProcessLookupError, PermissionError, ValueError):  # the last: the limit has just been lowered
            return

    def _mark(self, tgid: int, tag: Tag, hard: int) -> None:
        """Gives the process a soft limit that stands for `tag`, if its hard one lets that be.

        Raises OSError, ValueError.
        """
        if tag.places is None and tag.limit[1] == hard:
            self._tagged.pop(tgid, None)
            resource.prlimit(tgid, LOCKS, (_at_most(tag.limit[0], hard), hard))
            return
        value = self._tag_of.get(tag) or next(self._next_tag)
        if _at_most(value, hard) == value:
            resource.prlimit(tgid, LOCKS, (value, hard))
            self._tags[value], self._tag_of[tag] = tag, value
            self._tagged[tgid] = value

    def own_limit(self, tid: int) -> Limit:
        """RLIMIT_LOCKS as a thread's process has set it itself. Raises OSError."""
        soft, hard = resource.prlimit(tid, LOCKS)
        known = self._tags.get(soft)
        return (soft, hard) if known is None else known.limit

    def set_own_limit(self, tgid: int, limit: Limit) -> None:
        """A process that is known has this RLIMIT_LOCKS from now on, and is followed as before. Raises OSError."""
        soft, hard = resource.prlimit(tgid, LOCKS)
        known = self._tags.get(soft)
        self._mark(tgid, Tag(None if known is None else known.places, limit), hard)

    def lend(self, tgid: int, places: Places) -> int:
        """Gives the process a tag that nobody else has, for a child that starts in `places`, until it is told to
        `follow` others; returns the tag.
        """
        hard = resource.prlimit(tgid, LOCKS)[1]
        value = next(self._next_tag)
        self._tags[value] = Tag(places, self.own_limit(tgid))
        resource.prlimit(tgid, LOCKS, (_at_most(value, hard), hard))
        self._tagged[tgid] = value
        return value

    def heir_places(self, tid: int) -> Places | None:
        """Where a child would be that a thread's process forks now; None for the roots. Nothing is searched."""
        try:
            tag = self._tags.get(resource.prlimit(tid, LOCKS)[0])
        except (ProcessLookupError, PermissionError):
            return None
        return None if tag is None else tag.places

    def has_passed_on(self, tgid: int, tag: int) -> bool:
        """Whether a child is known that has the tag from this process."""
        return any(value == tag and child != tgid for child, value in self._tagged.items())

    def forked(self) -> list[tuple[TaskInfo, Places]]:
        """Those with a tag that the model does not know, by the time of their start. Nothing is done without tags."""
        if not self._tags:
            return []
        found: dict[int, tuple[TaskInfo, Places]] = {}
        tagged: dict[int, int] = {}
        for _ in range(_SEARCHES):
            listed = {int(name) for name in os.listdir("/proc") if name.isdecimal()}
            missed = False  # one that is gone may leave a child that is not listed
            for tgid in listed - self._tagged.keys() - tagged.keys():
                try:
                    value = resource.prlimit(tgid, LOCKS)[0]
                except ProcessLookupError:
                    missed = True
                    continue
                except PermissionError:
                    continue
                tag = self._tags.get(value)
                if tag is None:
                    continue
                task = self.find(tgid)
                if task is None:
                    missed = True
                    continue
                if tag.places is not None:
                    found[tgid] = (task, tag.places)
                tagged[tgid] = value
            if not missed:
                break
        in_order = [found[tgid] for tgid in sorted(found, key=lambda tgid: (_start(tgid), tgid))]
        self._tagged.update(tagged)  # only now: whatever fails before is found again
        self._forget(listed)
        return in_order

    def _forget(self, alive: set[int]) -> None:
        """Drops the tags that none of these processes has."""
        for tgid in self._tagged.keys() - alive:
            del self._tagged[tgid]
        for value in self._tags.keys() - self._tagged.values():
            self._tag_of.pop(self._tags.pop(value), None)

    # -- freezing ---------------------------------------------------------------------------------

    def freeze(self, tgid: int, frozen: bool) -> None:
        """SIGSTOP, and later SIGCONT.

        Never for this process, init, or a kernel thread; one that was stopped before by someone else stays so after.
        """
        if not frozen:
            if tgid in self._frozen:
                self._thawed(tgid)
                self._signal(tgid, signal.SIGCONT)
            return
        if tgid in self._frozen or tgid in (_INIT, os.getpid()):
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
        """`Processes.settle_stopped`: a fork that was under way when the signal came ends first."""
        deadline = time.monotonic() + _PATIENCE
        for tgid in self._frozen.intersection(tgids):
            while _state(tgid) == "R":
                if time.monotonic() > deadline:
                    return False
                time.sleep(_PAUSE)
        return True

    def release(self) -> None:
        """Lets all processes be as they would be without us: at the end of the daemon."""
        for tgid in list(self._frozen):
            self.freeze(tgid, False)
        self.forked()
        for tgid in list(self._tagged):
            self.follow(tgid, None)

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
        self._thawed(tgid)
        self._tagged.pop(tgid, None)
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


def _at_most(limit: int, hard: int) -> int:
    """A soft limit, or the hard one where that is lower."""
    if hard == _UNLIMITED or 0 <= limit <= hard:
        return limit
    return hard


_FLAGS, _START = 6, 19  # in what `stat_of` gives: the 9th and 22nd field


def _state(tid: int) -> str:
    """The state letter of /proc/TID/stat; "" for no such thread."""
    try:
        with open(f"/proc/{tid}/stat", "rb", buffering=0) as file:
            return file.read(512).rpartition(b")")[2][1:2].decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _start(tgid: int) -> int:
    """When a process was started, in clock ticks since boot; 0 for none."""
    stat = stat_of(tgid)
    return int(stat[_START]) if stat else 0


def _is_bound(tid: int) -> bool:
    """Whether a kernel thread must stay in the root (kernel/cgroup/cgroup.c, cgroup_procs_write_start)."""
    if tid == _KTHREADD:
        return True
    stat = stat_of(tid)
    return bool(stat) and bool(int(stat[_FLAGS]) & PF_NO_SETAFFINITY)
