"""clone3(2): with CLONE_INTO_CGROUP the child starts in a cgroup of the tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import pack, unpack

from fakecgroup import Caller
from fakecgroup.core.cgroup import Cgroup
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.fork import ForkCalls
from fakecgroup_mount.calls.mounted_tree import MountedTree, Places
from fakecgroup_mount.calls.path_lookup import fd_path
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Continue, Later
from fakecgroup_mount.seccomp.process import credentials, thread_group
from fakecgroup_mount.seccomp.syscalls import CLONE_NEWCGROUP, CLONE_THREAD

_INTO_CGROUP = 0x2_0000_0000
_FLAGS_SIZE, _CGROUP_OFFSET, _SIZE = 8, 80, 88  # of struct clone_args, with its member cgroup
_INT_MAX = (1 << 31) - 1
_KEPT = 64  # threads


class Clone3Call:
    """Takes CLONE_INTO_CGROUP away and lets the kernel go on.

    During the call the caller has the mark of the child's cgroup. The flag is not put back: nobody reports when the
    call is over, and the memory may have another use by then. So arguments that are still as they were left count as
    having the flag if they are used again. `child_came` is called when the child is there.
    """

    def __init__(
        self,
        tree: MountedTree,
        namespaces: CgroupNamespaces,
        processes: HostProcesses,
        forks: ForkCalls,
        child_marks: ChildMarks,
        child_came: Callable[[], None],
    ) -> None:
        self._tree = tree
        self._namespaces = namespaces
        self._processes = processes
        self._forking = forks
        self._child_marks = child_marks
        self._child_came = child_came
        self._left: dict[int, tuple[int, bytes]] = {}  # by thread: the address of its latest arguments, and their bytes

    def clone3(self, call: Call) -> Answer | Later:
        """Forks without the flag are answered as those of clone(2)."""
        if self._child_marks.any:  # the arguments may be those of the call that is waited for
            return Later(self._clone3)
        try:
            flags = self._flags(call)
        except OSError:
            return CONTINUE
        return Later(self._clone3) if flags & _INTO_CGROUP else self._forking.start_at_once(call, flags)

    def _clone3(self, call: Call) -> Answer:
        address, size = call.arguments[:2]
        self._child_marks.wait(call.tid)
        try:
            flags = self._flags(call)
        except OSError:
            return CONTINUE
        if not flags & _INTO_CGROUP or size < _SIZE:
            return self._forking.start(call, flags)
        try:
            (fd,) = unpack("=Q", call.memory.read(call.tid, address + _CGROUP_OFFSET, 8))
            cgroup = self._tree.inode(fd_path(call.tid, fd)) if fd <= _INT_MAX else None
        except OSError:
            return CONTINUE
        if not isinstance(cgroup, Cgroup) or not cgroup.hierarchy.dfl:
            return CONTINUE  # the kernel says EINVAL or EBADF
        tgid = thread_group(call.tid)
        self._child_marks.begin(tgid, call.tid)
        answer = CONTINUE
        try:
            answer = self._start(call, tgid, cgroup, flags)
        finally:
            if answer is CONTINUE:
                self._child_marks.end(tgid)
        return answer

    def _start(self, call: Call, tgid: int, cgroup: Cgroup, flags: int) -> Continue:
        from fakecgroup.base_files.dfl import vet_clone_into  # takes a while to load

        address = call.arguments[0]
        with self._tree.lock:
            before = self._places(tgid)
            after = tuple(cgroup if place.hierarchy is cgroup.hierarchy else place for place in before)
            source = cgroup.hierarchy.cgroup_of(call.tid)
            vet_clone_into(cgroup, source, self._caller(call.tid), threadgroup=not flags & CLONE_THREAD)
            cgroup.hierarchy.can_attach((call.tid,), cgroup)
            enforcer = cgroup.hierarchy.membership.enforcer
            if enforcer is not None:
                enforcer.begets(tgid)
        self._forking.admit(call.tid, after, flags)
        if not call.waits():
            return CONTINUE
        namespace = self._namespaces.expect(call, for_child=True) if flags & CLONE_NEWCGROUP else None
        given = call.memory.read(call.tid, address, _SIZE)
        other_flags = pack("=Q", flags & ~_INTO_CGROUP)
        call.memory.write(call.tid, address, other_flags)
        while len(self._left) >= _KEPT:
            self._left.pop(next(iter(self._left)), None)
        self._left[call.tid] = address, other_flags + given[_FLAGS_SIZE:]
        tid = call.tid

        def then() -> None:
            with self._tree.lock:
                self._forking.over(tid)
            self._child_came()
            if namespace is not None:
                namespace()

        return self._child_marks.continue_with_child_in(call, tgid, after, then)

    def _caller(self, tid: int) -> Caller:
        who = credentials(tid)
        asked = partial(self._processes.privileges, tid)
        return Caller(who.uids[3], who.gids[3], tid, lambda: who.groups, capabilities=asked)

    def _flags(self, call: Call) -> int:
        """The flags that the caller has given, perhaps for an earlier call. Raises OSError."""
        address = call.arguments[0]
        (flags,) = unpack("=Q", call.memory.read(call.tid, address, _FLAGS_SIZE))
        where, left = self._left.get(call.tid, (0, b""))
        if where == address and call.memory.read(call.tid, address, _SIZE) == left:
            return int(flags) | _INTO_CGROUP
        return int(flags)

    def _places(self, tgid: int) -> Places:
        self._tree.kernel.membership.adopt_forked()
        return tuple(hierarchy.cgroup_of(tgid) for hierarchy in self._tree.kernel.hierarchies)
