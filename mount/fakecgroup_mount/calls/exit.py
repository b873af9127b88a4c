"""exit(2), exit_group(2): what a process has used is counted before it exits, as afterwards nobody may tell.

It stops for that, so its clocks stand still. A process that a signal ends does not; the time of such ones is found in
what their parents have waited for.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator

from fakecgroup.tasks.place import Places
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.usage import parent_of
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Later
from fakecgroup_mount.seccomp.process import children

log = logging.getLogger(__name__)

_STATUS = re.compile(rb"^(Tgid|PPid|VmRSS|Threads):\s+(\d+)", re.M)
_KIB = 1024
_REST = 10_000_000  # ns on a CPU that an exit takes at most, and
_PER_BYTE = 0.5  # ns for what is given back


class ExitCalls:
    """What is known of processes that exit."""

    def __init__(self, tree: MountedTree, processes: HostProcesses) -> None:
        self._tree = tree
        self._processes = processes

    def exit(self, call: Call) -> Answer | Later:
        """Of a thread, perhaps the last of its process."""
        return self._exit(call, all_threads=False)

    def exit_group(self, call: Call) -> Answer | Later:
        """Of a process."""
        return self._exit(call, all_threads=True)

    def _exit(self, call: Call, *, all_threads: bool) -> Answer | Later:
        lock = self._tree.lock
        if not lock.acquire(blocking=False):
            return Later(lambda call: self._wait_and_end(call, all_threads))
        try:
            return self._end(call.tid, all_threads)
        finally:
            lock.release()

    def _wait_and_end(self, call: Call, all_threads: bool) -> Answer:
        with self._tree.lock:
            return self._end(call.tid, all_threads)

    def _end(self, tid: int, all_threads: bool) -> Answer:
        """With the tree's lock held. Whatever fails here, the thread exits."""
        try:
            self._count(tid, all_threads)
        except OSError:
            pass  # killed meanwhile
        except Exception:
            log.exception("the exit of %d", tid)
        return CONTINUE

    def _count(self, tid: int, all_threads: bool) -> None:
        membership = self._tree.kernel.membership
        if not membership.has_accounts and self._processes.child_places(tid) is None:
            return
        with open(f"/proc/{tid}/status", "rb", buffering=0) as file:
            status = {name: int(value) for name, value in _STATUS.findall(file.read(4096))}
        tgid = status[b"Tgid"]
        told: list[tuple[int, Places]] = []
        above = tgid
        while not membership.has_account(above):
            places = self._processes.child_places(above)
            if places is None:
                break
            told.insert(0, (above, places))
            above = status[b"PPid"] if above == tgid else parent_of(above)
        if all_threads or status[b"Threads"] == 1:
            told += self._new_children(tgid)
            rest = _REST + int(status.get(b"VmRSS", 0) * _KIB * _PER_BYTE)
            membership.process_exits(told, tgid, rest)
        else:
            membership.count_process(tgid)

    def _new_children(self, tgid: int) -> Iterator[tuple[int, Places]]:
        """Those that will outlive a process and are not known: no other process can tell of their time."""
        for tid in os.listdir(f"/proc/{tgid}/task"):
            for child in map(int, children(int(tid))):
                if not self._tree.kernel.membership.has_account(child):
                    places = self._processes.child_places(child)
                    if places is not None:
                        yield child, places
