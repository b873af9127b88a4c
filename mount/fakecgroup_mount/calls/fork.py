"""clone(2), fork(2), vfork(2), clone3(2): EAGAIN where pids.max of a cgroup above is reached.

The kernel makes the child once it was told to go on, and says nothing of it. So a fork that is let go on takes room
until the tasks are counted, which is done where no room is left, and its child is seen or the call is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from fakecgroup.controllers.pids import Pids
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy
from fakecgroup.tasks.place import Place
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.mounted_tree import MountedTree, Places
from fakecgroup_mount.calls.thread_cgroups import ThreadCgroups
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Continue, Later
from fakecgroup_mount.seccomp.process import A_FORK, children, ran
from fakecgroup_mount.seccomp.syscalls import (
    CLONE_FS,
    CLONE_NEWCGROUP,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_PARENT,
    CLONE_SIGHAND,
    CLONE_THREAD,
    CLONE_VM,
    HERE,
)

_CALLS = frozenset(b"%d" % HERE.numbers[name] for name in ("clone", "clone3", "fork", "vfork") if name in HERE.numbers)
_PATIENCE = 1.0  # seconds for others' forks, when they have what room there is
_PAUSE = 0.0005
_MOST = 1000  # forks that are not known to be over


@dataclass(frozen=True, slots=True, eq=False)
class _Fork:
    """A fork that was let go on: what it takes room in, whose children there were, and how long it had run (ns)."""

    tid: int
    csses: tuple[Pids, ...]
    children: frozenset[bytes] | None
    ran: int

    def has_come(self) -> bool:
        """Whether the child is there, or the call is over."""
        if self.children is not None and not children(self.tid) <= self.children:
            return True
        try:
            with open(f"/proc/{self.tid}/syscall", "rb", buffering=0) as file:
                number = file.read(256).split()[0]
        except OSError:
            return True
        return ran(self.tid) - self.ran > A_FORK if number == b"running" else number not in _CALLS


class ForkCalls:
    """Counts forks against the limits; the tree's lock guards what is under way."""

    def __init__(
        self, tree: MountedTree, namespaces: CgroupNamespaces, processes: HostProcesses, child_marks: ChildMarks
    ) -> None:
        self._tree = tree
        self._namespaces = namespaces
        self._processes = processes
        self._child_marks = child_marks
        self._thread_cgroups = ThreadCgroups(tree, child_marks)
        self._under_way: list[_Fork] = []
        self._latest: dict[int, _Fork] = {}  # by tid, of those under way
        self._counting = threading.Lock()

    def clone(self, call: Call) -> Answer | Later:
        return self.start_at_once(call, call.arguments[0])

    def fork(self, call: Call) -> Answer | Later:
        return self.start_at_once(call, 0)

    def start_at_once(self, call: Call, flags: int) -> Answer | Later:
        """As `start`, but where there are no limits, as in the roots, nobody need wait."""
        limited = self._tree.kernel.membership.limits_tasks and self._processes.child_places(call.tid) is not None
        if self._child_marks.any or flags & CLONE_NEWCGROUP or limited or self._thread_cgroups.has(call.tid):
            return Later(lambda call: self.start(call, flags))
        return CONTINUE

    def start(self, call: Call, flags: int) -> Answer:
        """For a new task that starts where its parent is. Raises EAGAIN."""
        self._child_marks.wait(call.tid)
        heirs = self._processes.child_places(call.tid)
        if heirs is not None and not _is_wrong(flags):
            with self._tree.lock:
                both = zip(self._tree.kernel.hierarchies, heirs, strict=True)
                places = tuple(_place(hierarchy, call.tid, heir) for hierarchy, heir in both)
            self.admit(call.tid, places, flags)
        if self._thread_cgroups.has(call.tid) and not flags & CLONE_NEWCGROUP:
            return self._thread_cgroups.start(call, flags)
        return Continue(self._namespaces.expect(call, for_child=True)) if flags & CLONE_NEWCGROUP else CONTINUE

    def admit(self, tid: int, places: Places, flags: int) -> None:
        """Takes room for a child of a thread that starts in `places`. Raises EAGAIN (pids_can_fork)."""
        with self._tree.lock:
            csses = self._limited(places)
            if not csses:
                return
            if len(self._under_way) < _MOST and all(css.has_room for css in csses):
                self._take(tid, csses, flags)
                return
        end = time.monotonic() + _PATIENCE
        while not self._count_and_admit(tid, places, flags, wait=time.monotonic() < end):
            time.sleep(_PAUSE)

    def _count_and_admit(self, tid: int, places: Places, flags: int, *, wait: bool) -> bool:
        """False where what room there is may yet be given back."""
        with self._counting:
            come = [
                fork
                for fork in list(self._under_way)
                if self._latest.get(fork.tid) is not fork or fork.tid == tid or fork.has_come()
            ]
            with self._tree.lock:
                csses = self._limited(places)
                for css in csses:
                    css.cgroup.hierarchy.prune(css.cgroup, *css.cgroup.descendants())
                for fork in come:
                    self._drop(fork)
                full = [css for css in csses if not css.has_room]
                if full and wait and all(css.current < css.limit for css in full):
                    return False
                for css in self._nearest(places):
                    css.can_fork()
                self._take(tid, csses, flags)
                return True

    def over(self, tid: int) -> None:
        """The child that a thread made last is known. With the tree's lock held."""
        fork = self._latest.get(tid)
        if fork is not None:
            self._drop(fork)

    def _drop(self, fork: _Fork) -> None:
        if fork in self._under_way:
            self._under_way.remove(fork)
            if self._latest.get(fork.tid) is fork:
                del self._latest[fork.tid]
            for css in fork.csses:
                css.coming -= 1

    def _nearest(self, places: Places) -> Iterator[Pids]:
        """What accounts for a task in `places`."""
        for place in places:
            css = place.effective_css("pids")
            if isinstance(css, Pids):
                yield css

    def _limited(self, places: Places) -> tuple[Pids, ...]:
        return tuple(css for nearest in self._nearest(places) for css in nearest.limited())

    def _take(self, tid: int, csses: tuple[Pids, ...], flags: int) -> None:
        if not csses:
            return
        own = None if flags & (CLONE_THREAD | CLONE_PARENT) else children(tid)
        fork = self._latest[tid] = _Fork(tid, csses, own, ran(tid))
        self._under_way.append(fork)
        for css in csses:
            css.coming += 1


def _place(hierarchy: Hierarchy, tid: int, heir: Place) -> Cgroup:
    """Where a child of a thread starts, which may be apart from the process, or with it in `heir`."""
    own = hierarchy.cgroup_of(tid)
    if own.parent is not None:
        return own
    assert isinstance(heir, Cgroup)  # what the model gave to `HostProcesses.follow`
    return heir


def _is_wrong(flags: int) -> bool:
    """What the kernel refuses with EINVAL before it counts tasks (copy_process)."""
    return (
        (flags & CLONE_FS and flags & (CLONE_NEWNS | CLONE_NEWUSER))
        or (flags & CLONE_THREAD and (not flags & CLONE_SIGHAND or flags & (CLONE_NEWUSER | CLONE_NEWPID)))
        or (flags & CLONE_SIGHAND and not flags & CLONE_VM)
    ) != 0
