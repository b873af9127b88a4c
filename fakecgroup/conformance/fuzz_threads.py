"""Random cases about threads: in which cgroup each one is and begins, in threaded subtrees and in v1's `tasks`."""

from __future__ import annotations

import random
from typing import Any

from fakecgroup.conformance.fuzz_mix import Kind, Ops, mix

_DIRECTORIES = ("a", "b", "a/c", "a/d", "a/c/e")
_PROCESSES = ("p", "q", "r")
_THREADS = 6
#: Milliseconds for a death to be known everywhere.
_DEATH = 20


def thread_ops(chance: random.Random, length: int, root: str) -> Ops:
    """``length`` operations in the hierarchy whose directory is ``root``: "" for the unified one, else one of v1."""
    return _Writer(chance, root).ops(length)


class _Writer:
    def __init__(self, chance: random.Random, root: str) -> None:
        self._chance = chance
        self._root = root
        self._processes: list[str] = []
        self._threads: dict[str, str] = {}  # with the process of each
        self._own: list[str] = []  # children of the writer, who alone can wait for them
        self._places = [f"{root}/{name}".lstrip("/") for name in _DIRECTORIES]
        self._threaded = not root and chance.random() < 0.9

    def ops(self, length: int) -> Ops:
        chance = self._chance
        result: Ops = [("mkdir", place) for place in self._places]
        if self._threaded:
            result += [
                ("write", f"{place}/cgroup.type", "threaded") for place in self._places if chance.random() < 0.75
            ]
        kinds: list[Kind] = [
            (3, self._fork),
            (5, self._thread),
            (8, self._move_thread),
            (4, self._move_process),
            (3, self._ask),
            (1.5, self._exit),
            (1, self._kill),
            (0.7 if self._threaded else 0, self._type),
            (0.5, self._tree),
        ]
        mix(chance, kinds, result, length)
        return result[:length]

    def _place(self) -> str:
        return self._root or "." if self._chance.random() < 0.05 else self._chance.choice(self._places)

    def _task(self) -> str:
        return self._chance.choice([*self._processes, *self._threads] or ["self"])

    def _maker(self) -> str:
        """Who makes a thread: its leader or one of its threads, wherever that is."""
        return self._chance.choice([*self._processes, *self._threads])

    def _lists(self) -> tuple[str, ...]:
        return ("cgroup.procs", "tasks") if self._root else ("cgroup.procs", "cgroup.threads", "cgroup.threads")

    def _look(self) -> Ops:
        files = self._lists() if self._root else (*self._lists(), "cgroup.type", "cgroup.events", "pids.current")
        return [("read", f"{self._place()}/{self._chance.choice(files)}")]

    def _fork(self) -> Ops:
        left = [name for name in _PROCESSES if name not in self._processes]
        if not left:
            return []
        chance = self._chance
        self._processes.append(left[0])
        if not self._root and chance.random() < 0.4:
            operation: tuple[Any, ...] = ("clone_into", left[0], self._place())
        else:
            operation = ("fork", left[0])
        others = [*self._processes[:-1], *self._threads]
        if others and chance.random() < 0.4:
            operation = ("in", chance.choice(others), *operation)
        else:
            self._own.append(left[0])
        return [operation, *self._look()]

    def _thread(self) -> Ops:
        if not self._processes:
            return self._fork()
        if len(self._threads) == _THREADS:
            return []
        name = f"t{len(self._threads)}"
        maker = self._maker()
        self._threads[name] = self._threads.get(maker, maker)
        return [("in", maker, "thread", name), *self._look(), *self._look()]

    def _move_thread(self) -> Ops:
        if not self._threads:
            return self._thread()
        path = f"{self._place()}/{'tasks' if self._root else 'cgroup.threads'}"
        return [("write", path, f"${self._task()}"), ("read", path), *self._look()]

    def _move_process(self) -> Ops:
        path = f"{self._place()}/cgroup.procs"
        return [("write", path, f"${self._task()}"), ("read", path), *self._look()]

    def _ask(self) -> Ops:
        return [("proc", self._task(), "cgroup")]

    def _exit(self) -> Ops:
        if not self._threads:
            return []
        name = self._chance.choice(sorted(self._threads))
        return [("in", name, "exit"), ("settle", _DEATH), *self._look()]

    def _kill(self) -> Ops:
        if not self._own:
            return []
        name = self._chance.choice(self._own)
        self._own.remove(name)
        self._processes.remove(name)
        self._threads = {thread: process for thread, process in self._threads.items() if process != name}
        return [("kill", name), ("settle", _DEATH), *self._look(), ("wait", name), ("settle", _DEATH), *self._look()]

    def _type(self) -> Ops:
        path = f"{self._place()}/cgroup.type"
        return [("write", path, "threaded"), ("read", path)]

    def _tree(self) -> Ops:
        place = self._place()
        return [(self._chance.choice(("mkdir", "rmdir")), place), *self._look()]
