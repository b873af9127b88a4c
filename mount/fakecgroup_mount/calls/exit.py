"""exit(2), exit_group(2): the time that a process has used is counted before it exits.

It is stopped in the call, so its clocks stand still. Afterwards nobody can read them. A process that a signal ends is
not trapped; its time is found in what its parent has waited for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from fakecgroup.late_pattern import pattern
from fakecgroup.tasks.place import Places
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.host.log import Log
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.usage import parent_of
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Later
from fakecgroup_mount.seccomp.process import children

log = Log(__name__)

_STATUS = pattern(rb"^(Tgid|PPid|VmRSS|Threads):\s+(\d+)", re.M)
_KIB = 1024
_EXIT = 10_000_000  # ns on a CPU that an exit takes at most, without
_PER_BYTE = 0.5  # ns for each byte of memory that it frees


class ExitCalls:
    """Counts the time of processes that exit. `ends` is called with a thread of each."""

    def __init__(
        self, tree: MountedTree, processes: HostProcesses, ends: Callable[[int], None] = lambda tid: None
    ) -> None:
        self._ends = ends
        self._tree = tree
        self._processes = processes

    def exit(self, call: Call) -> Answer | Later:
        """exit(2): a thread ends, and its process if it is the last one."""
        return self._exit(call, all_threads=False)

    def exit_group(self, call: Call) -> Answer | Later:
        """exit_group(2): a process ends."""
        self._ends(call.tid)
        return self._exit(call, all_threads=True)

    def _exit(self, call: Call, *, all_threads: bool) -> Answer | Later:
        lock = self._tree.lock
        if not lock.acquire(blocking=False):
            return Later(lambda call: self._wait_and_count(call, all_threads))
        try:
            return self._try_to_count(call.tid, all_threads)
        finally:
            lock.release()

    def _wait_and_count(self, call: Call, all_threads: bool) -> Answer:
        with self._tree.lock:
            return self._try_to_count(call.tid, all_threads)

    def _try_to_count(self, tid: int, all_threads: bool) -> Answer:
        """Counts with the tree's lock held. Whatever fails here, the thread exits."""
        try:
            self._count(tid, all_threads)
        except OSError:
            pass  # it was killed meanwhile
        except Exception:
            log.exception("the exit of %d", tid)
        return CONTINUE

    def _count(self, tid: int, all_threads: bool) -> None:
        membership = self._tree.kernel.membership
        if not membership.has_accounts and self._processes.child_places(tid) is None:
            return
        with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
            status = {name: int(value) for name, value in _STATUS().findall(file.read(4096))}
        tgid = status[b"Tgid"]
        without_account: list[tuple[int, Places]] = []
        ancestor = tgid
        while not membership.has_account(ancestor):
            places = self._processes.child_places(ancestor)
            if places is None:
                break
            without_account.insert(0, (ancestor, places))
            ancestor = status[b"PPid"] if ancestor == tgid else parent_of(ancestor)
        if all_threads or status[b"Threads"] == 1:
            without_account += self._new_children(tgid)
            rest = _EXIT + int(status.get(b"VmRSS", 0) * _KIB * _PER_BYTE)
            membership.process_exits(without_account, tgid, rest)
        else:
            membership.count_process(tgid)

    def _new_children(self, tgid: int) -> Iterator[tuple[int, Places]]:
        """The children of a process that have no account yet. When it is gone, no process reports their time."""
        for tid in os.listdir(f"/proc/{tgid}/task"):
            for child in map(int, children(int(tid))):
                if not self._tree.kernel.membership.has_account(child):
                    places = self._processes.child_places(child)
                    if places is not None:
                        yield child, places
