"""pidfd_open(2), pidfd_send_signal(2): of a simulated process.

An eventfd stands in for the descriptor. It is readable once the process has ended, and its id tells of which it is.
"""

from __future__ import annotations

import os
import re
from errno import EINVAL, ESRCH

from fakecgroup import JoinedProcesses
from fakecgroup.late_pattern import pattern
from fakecgroup.tasks.tid import FIRST_SIMULATED
from fakecgroup_mount.calls.kill import KillCalls
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Descriptor
from fakecgroup_mount.seccomp.process import signed

_THREAD = os.O_EXCL  # PIDFD_THREAD, Linux 6.9
_SIGNAL_FLAGS = 0x7  # PIDFD_SIGNAL_*, Linux 6.9
_ID = pattern(r"^eventfd-id:\s+(\d+)$", re.M)
_MOST = 1000  # descriptors that are kept of processes that have ended


class PidfdCalls:
    """Opens descriptors of simulated processes, and signals by them."""

    def __init__(
        self, tree: MountedTree, processes: JoinedProcesses, passing_time: PassingTime, kills: KillCalls
    ) -> None:
        self._tree = tree
        self._processes = processes
        self._time = passing_time
        self._kills = kills
        self._opened: dict[int, tuple[int, int]] = {}  # by eventfd id: pid, our descriptor
        self._live: set[int] = set()  # ids of processes that have not ended
        passing_time.watch(self._tell_ends)

    def pidfd_open(self, call: Call) -> Answer:
        """Raises EINVAL, ESRCH in the kernel's order."""
        pid, flags = signed(call.arguments[0]), call.arguments[1] & 0xFFFFFFFF
        if flags & ~(os.O_NONBLOCK | _THREAD):
            return -EINVAL
        with self._tree.lock:
            self._time.catch_up()
            if not self._processes.begun or self._processes.find(pid) is None:
                return -ESRCH
            ours = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            number = _id_of(f"/proc/self/fdinfo/{ours}")
            assert number is not None
            self._opened[number] = pid, ours
            self._live.add(number)
        return Descriptor(os.dup(ours), os.O_CLOEXEC)

    def pidfd_send_signal(self, call: Call) -> Answer:
        """Of any other descriptor the kernel itself answers. Raises EINVAL, and what kill(2) does."""
        number = _id_of(f"/proc/{call.tid}/fdinfo/{signed(call.arguments[0])}")
        with self._tree.lock:
            pid, _ = self._opened.get(number or 0, (0, 0))
        if pid < FIRST_SIMULATED:
            return CONTINUE
        if call.arguments[3] & 0xFFFFFFFF & ~_SIGNAL_FLAGS:
            return -EINVAL
        return self._kills.signal(call, pid, pid, signed(call.arguments[1]))

    def _tell_ends(self) -> None:
        """Makes the descriptors of processes readable that have ended. The caller holds the lock."""
        for number in list(self._live):
            pid, ours = self._opened[number]
            if self._processes.find(pid) is None:
                os.eventfd_write(ours, 1)
                self._live.discard(number)
        ended = [number for number in self._opened if number not in self._live]
        for number in ended[: max(0, len(ended) - _MOST)]:
            os.close(self._opened.pop(number)[1])


def _id_of(path: str) -> int | None:
    """The id of an eventfd, by its fdinfo (Linux 5.2); None for another descriptor, or none."""
    try:
        with open(path) as file:
            found = _ID().search(file.read())
    except OSError:
        return None
    return None if found is None else int(found[1])
