"""Random cases about CPUs that go and come on v1, and about the affinities of tasks on both versions.

All tasks run after each change: which CPUs one that sleeps will have when it runs is not asked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from fakecgroup.conformance.fuzz_mix import Kind, Ops, mix

_CPUS = 4
_NODES = ("0", "1", "0-1")
_PLACES = ("a", "b", "a/c", "a/d", "a/c/e")
_PROCESSES = ("p", "q", "r")


def move_cpu(chance: random.Random, cpus: int, names: Sequence[str]) -> Ops:
    """Takes a CPU offline, or brings one back. The first one stays. Then all tasks run."""
    run = [("in", name, "cpus", "online") for name in names]
    return [("cpu", chance.randrange(1, cpus), chance.choice("001")), *run]


def look_at_affinity(chance: random.Random, names: Sequence[str]) -> Ops:
    """Asks for the CPUs of a task, or of who asks."""
    if not names or chance.random() < 0.15:
        return [("affinity", "self")]
    name = chance.choice(names)
    return [("in", name, "cpus", "online"), ("affinity", name)]


def ask_for_cpus(chance: random.Random, cpus: int, names: Sequence[str]) -> Ops:
    """A task gets CPUs by sched_setaffinity(2)."""
    name = chance.choice(names) if names and chance.random() < 0.9 else "self"
    mask = chance.randrange(1 << cpus) | chance.randrange(1 << cpus) * chance.choice((0, 1))
    return [
        *([] if name == "self" else [("in", name, "cpus", "online")]),
        ("set_affinity", name, mask),
        ("affinity", name),
    ]


def legacy_cpu_ops(chance: random.Random, length: int) -> Ops:
    """``length`` operations in v1's cpuset hierarchy."""
    return _Writer(chance).ops(length)


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._made: list[str] = []

    def ops(self, length: int) -> Ops:
        result: Ops = []
        for place in _PLACES:
            result += [("mkdir", f"cpuset/{place}"), *self._set(place, "cpus"), *self._set(place, "mems")]
        kinds: list[Kind] = [
            (6, lambda: [*move_cpu(self._chance, _CPUS, self._made), *self._look(), *self._look()]),
            (6, lambda: self._set(self._chance.choice(_PLACES), "cpus")),
            (1, lambda: self._set(self._chance.choice(_PLACES), "mems")),
            (1, self._flag),
            (5, self._move),
            (4, lambda: ask_for_cpus(self._chance, _CPUS, self._made)),
            (4, lambda: look_at_affinity(self._chance, self._made)),
        ]
        mix(self._chance, kinds, result, length)
        return result[:length]

    def _look(self) -> Ops:
        file = self._chance.choice(("cpuset.cpus", "cpuset.effective_cpus", "tasks"))
        return [("read", f"cpuset/{self._chance.choice(_PLACES)}/{file}")]

    def _set(self, place: str, file: str) -> Ops:
        chance = self._chance
        if file == "mems":
            value = chance.choice(_NODES)
        else:
            value = ",".join(str(cpu) for cpu in range(_CPUS) if chance.random() < 0.7) or "0"
        return [("write", f"cpuset/{place}/cpuset.{file}", value), *self._look()]

    def _flag(self) -> Ops:
        place = self._chance.choice(_PLACES)
        return [("write", f"cpuset/{place}/cpuset.cpu_exclusive", self._chance.choice("01")), *self._look()]

    def _move(self) -> Ops:
        chance = self._chance
        result: Ops = []
        left = [name for name in _PROCESSES if name not in self._made]
        if left and (not self._made or chance.random() < 0.3):
            self._made.append(left[0])
            result.append(("fork", left[0]))
        place = "cpuset" if chance.random() < 0.15 else f"cpuset/{chance.choice(_PLACES)}"
        name = chance.choice(self._made)
        return [*result, ("write", f"{place}/tasks", f"${name}"), *look_at_affinity(chance, [name]), *self._look()]
