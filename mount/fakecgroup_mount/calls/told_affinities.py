"""The CPUs that threads have asked for, of a machine with other CPUs than the real one has.

The kernel keeps a real affinity that follows from it, and children inherit that. What it followed from is found with
the thread's ancestors.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import NamedTuple

from fakecgroup.machine.machine import Machine
from fakecgroup.outside.affinities import mapped, mapped_back
from fakecgroup_mount.seccomp.process import children, thread_group

_START, _PARENT = 19, 1  # fields of /proc/PID/stat, counted after the name
_MOST = 1000  # threads, before those that are gone are looked for
_LEVELS = 100  # ancestors that are asked


def real_cpus(machine: Machine, parts: frozenset[str]) -> list[int]:
    """The CPUs that programs run on: no more than the stated machine has, as getcpu(2) tells which it is."""
    found = sorted(os.sched_getaffinity(0))
    return found[: machine.cpus] if "cpus" in parts else found


class _Asked(NamedTuple):
    """What a thread asked for, `when` in ticks since the boot, for a thread that started at `start`."""

    start: int
    when: int
    mask: int


class ToldAffinities:
    """`real` are the CPUs that the real machine gives, `cpus` the count of those that there seem to be."""

    def __init__(self, real: Sequence[int], cpus: int) -> None:
        self.real = real
        self.cpus = cpus
        self._asked: dict[int, list[_Asked]] = {}
        self._lock = threading.Lock()
        self._tick = os.sysconf("SC_CLK_TCK")

    def tell(self, tid: int, mask: int, runs_on: set[int], now: int) -> None:
        """Has a thread run on real CPUs, and notes the mask that it asked for. `now` is ns since the boot.

        Raises OSError.
        """
        _, start = _family(tid)
        os.sched_setaffinity(tid, runs_on)
        with self._lock:
            if len(self._asked) >= _MOST:
                self._asked = {one: asked for one, asked in self._asked.items() if os.path.exists(f"/proc/{one}")}
            before = [asked for asked in self._asked.get(tid, ()) if asked.start == start]
            self._asked[tid] = [*before[-_LEVELS:], _Asked(start, now * self._tick // 10**9, mask)]

    def told(self, tid: int) -> int | None:
        """The mask that a thread or the ancestor whose affinity it has asked for; None if nobody has.

        Raises OSError: there is no such thread.
        """
        runs_on = os.sched_getaffinity(tid)
        if runs_on >= set(self.real) and not self._asked:
            return None
        started, until = tid, 1 << 62
        for _ in range(_LEVELS):
            parent, start = _family(tid)
            with self._lock:
                asked = [one for one in self._asked.get(tid, ()) if one.start == start and one.when <= until]
            for one in reversed(asked):
                if tid == started or mapped(one.mask, self.real) & runs_on:
                    return one.mask
            until = start
            leader = thread_group(tid)
            tid = leader if leader != tid else parent
            if tid <= 1:
                break
            try:
                _family(tid)
            except OSError:
                break
        if runs_on >= set(self.real):
            return None
        return mapped_back(runs_on, self.real, self.cpus)

    def hand_down(self, tid: int) -> None:
        """Notes for the children of a thread's process, which ends, what their affinity stands for."""
        if not self._asked:
            return
        try:
            for thread in os.listdir(f"/proc/{thread_group(tid)}/task"):
                for child in map(int, children(int(thread))):
                    mask, (_, start) = self.told(child), _family(child)
                    if mask is not None:
                        with self._lock:
                            self._asked.setdefault(child, [_Asked(start, start, mask)])
        except OSError:
            pass  # it or the child was killed meanwhile


def _family(tid: int) -> tuple[int, int]:
    """The parent of a thread, and its start in ticks since the boot. Raises OSError."""
    with open(f"/proc/{tid}/stat", "rb", buffering=0) as file:
        fields = file.read(4096).rpartition(b")")[2].split()
    return int(fields[_PARENT]), int(fields[_START])
