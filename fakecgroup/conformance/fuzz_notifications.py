"""Random cases about notifications: who polls which file learns what of which change, soon after another or later."""

from __future__ import annotations

import random

from fakecgroup.conformance.fuzz_mix import Kind, Ops, mix

_DIRECTORIES = ("a", "b", "a/c", "a/c/d")
_PROCESSES = ("p", "q", "r")
_HANDLES = ("h", "i", "j")
_FILES = ("cgroup.events", "cgroup.events", "cgroup.events", "pids.events", "memory.events", "cpuset.cpus.partition")
#: Milliseconds after which what was put off has been told (cgroup_file_notify puts off by 10).
_TOLD = 40


def notification_ops(chance: random.Random, length: int) -> Ops:
    """``length`` operations in the unified hierarchy of layout v2."""
    return _Writer(chance).ops(length)


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._places = list(_DIRECTORIES)
        self._processes: list[str] = []
        self._opened: list[str] = []
        self._polls = False
        self._partitions = chance.random() < 0.3

    def ops(self, length: int) -> Ops:
        chance = self._chance
        result: Ops = [("write", "cgroup.subtree_control", "+pids +memory +cpuset")]
        result += [("mkdir", place) for place in self._places]
        result.append(("write", "a/cgroup.subtree_control", "+pids +memory +cpuset"))
        kinds: list[Kind] = [
            (8, self._populate),
            (4, self._freeze),
            (3 if self._partitions else 0, self._partition),
            (4, self._open),
            (8, self._poll),
            (5, self._take),
            (4, self._epoll),
            (3, self._wait),
            (1, self._tree),
            (1, self._die),
        ]
        mix(chance, kinds, result, length)
        return result[:length]

    def _place(self) -> str:
        return self._chance.choice(self._places)

    def _wait(self) -> Ops:
        return [("settle", _TOLD)]

    def _populate(self) -> Ops:
        chance = self._chance
        left = [name for name in _PROCESSES if name not in self._processes]
        if left and (not self._processes or chance.random() < 0.2):
            self._processes.append(left[0])
            if chance.random() < 0.4:
                return [("clone_into", left[0], self._place())]
            return [("fork", left[0])]
        return [("write", f"{chance.choice([*self._places, '.'])}/cgroup.procs", f"${chance.choice(self._processes)}")]

    def _freeze(self) -> Ops:
        """The tasks take their time to stop, so that is waited for."""
        return [("write", f"{self._place()}/cgroup.freeze", self._chance.choice("01")), ("settle", _TOLD)]

    def _partition(self) -> Ops:
        chance = self._chance
        place = self._place()
        if chance.random() < 0.5:
            return [("write", f"{place}/cpuset.cpus", chance.choice(("0", "1", "0-1", "2-3", "\n")))]
        return [("write", f"{place}/cpuset.cpus.partition", chance.choice(("root", "member")))]

    def _open(self) -> Ops:
        handle = self._chance.choice(_HANDLES)
        if handle not in self._opened:
            self._opened.append(handle)
        return [("open", handle, f"{self._place()}/{self._chance.choice(_FILES)}")]

    def _handle(self) -> str:
        return self._chance.choice(self._opened)

    def _poll(self) -> Ops:
        if not self._opened:
            return self._open()
        return [("settle", _TOLD), ("poll", self._handle(), "IN|PRI")]

    def _take(self) -> Ops:
        """A read takes what was told up to then."""
        if not self._opened:
            return self._open()
        return [("fpread", self._handle(), 4096, 0)]

    def _epoll(self) -> Ops:
        if not self._opened:
            return self._open()
        if not self._polls:
            self._polls = True
            return [("epoll", "e"), ("epoll_add", "e", self._handle(), "PRI")]
        if self._chance.random() < 0.3:
            return [("epoll_add", "e", self._handle(), self._chance.choice(("PRI", "PRI|ET")))]
        return [("settle", _TOLD), ("ready", "e")]

    def _tree(self) -> Ops:
        chance = self._chance
        return [(chance.choice(("mkdir", "rmdir")), chance.choice(_DIRECTORIES)), ("settle", _TOLD)]

    def _die(self) -> Ops:
        if not self._processes:
            return []
        name = self._chance.choice(self._processes)
        self._processes.remove(name)
        return [("kill", name), ("settle", _TOLD), ("wait", name), ("settle", _TOLD)]
