"""Random cases about cpuset's partitions: trees in which CPUs change hands, local and remote, with tasks in the way.

Nearly every write meets the sets that were written before: a child's CPUs are mostly some of its parent's, a sibling's
mostly others. What each change brings about is read in several places, and everywhere in the end. CPUs may go and come,
and tasks ask for some.
"""

from __future__ import annotations

import random

from fakecgroup.conformance.fuzz_affinities import ask_for_cpus, look_at_affinity, move_cpu
from fakecgroup.conformance.fuzz_mix import Kind, Ops, mix

_CPUS = 4
_NAMES = ("a", "b", "c")
_DEPTH = 4
_PLACES = 8
_PROCESSES = ("p", "q", "r")
_STATE = ("cpuset.cpus.partition", "cpuset.cpus.effective", "cpuset.cpus.exclusive.effective")
#: Milliseconds after which a removed cpuset has given its CPUs back.
_REMOVED = 60


def partition_ops(chance: random.Random, length: int, *, exclusive: bool, hotplug: bool = False) -> Ops:
    """``length`` operations, or fewer by the last reads; ``exclusive``: the kernel has cpuset.cpus.exclusive.

    With ``hotplug`` CPUs are taken offline, and tasks ask for CPUs.
    """
    return _Writer(chance, exclusive, hotplug).ops(length)


class _Writer:
    """What it remembers is what was written, whether or not the kernel took it."""

    def __init__(self, chance: random.Random, exclusive: bool, hotplug: bool) -> None:
        self._chance = chance
        self._hotplug = hotplug
        self._exclusive = exclusive
        self._state = _STATE if exclusive else _STATE[:2]
        self._places: list[str] = []
        self._sets: dict[str, int] = {}  # by path of the file
        self._made: list[str] = []
        self._removes = chance.random() < 0.5
        self._populates = chance.random() < 0.7
        self._disables = chance.random() < 0.2
        self._users = chance.random() < 0.25

    def ops(self, length: int) -> Ops:
        chance = self._chance
        result: Ops = [("write", "cgroup.subtree_control", "+cpuset")]
        for _ in range(chance.randint(2, 6)):
            result += self._make()
        kinds: list[Kind] = [
            (12 if self._exclusive else 0, self._set_exclusive),
            (8 if self._exclusive else 14, self._set_cpus),
            (14, self._set_partition),
            (2, self._make),
            (3 if self._removes else 0, self._remove),
            (4 if self._populates else 0, self._move),
            (2 if self._disables else 0, self._control),
            (2 if self._users else 0, self._as_user),
            (0.3, self._set_mems),
            (6 if self._hotplug else 0, self._move_cpu),
            (4 if self._hotplug else 0, self._ask),
        ]
        mix(chance, kinds, result, length - len(self._state) * (_PLACES + 1))
        for place in self._places:
            result += [("read", f"{place}/{file}") for file in self._state]
        result += [("read", "cpuset.cpus.effective"), ("read", "cpuset.cpus.isolated")]
        return result[:length]

    def _place(self) -> str:
        return self._chance.choice(self._places or ["a"])

    def _look(self) -> Ops:
        """What is now somewhere."""
        chance = self._chance
        if chance.random() < 0.1:
            return [("read", chance.choice(("cpuset.cpus.effective", "cpuset.cpus.isolated")))]
        return [("read", f"{self._place()}/{chance.choice(self._state)}")]

    # -- sets and states --------------------------------------------------------------------------

    def _cpus(self, path: str) -> int:
        """A set of CPUs that is likely to matter for this file."""
        chance = self._chance
        place, _, file = path.rpartition("/")
        parent = place.rpartition("/")[0]
        known = [cpus for cpus in (self._sets.get(f"{parent}/{name}", 0) for name in _SETS) if cpus]
        whole = chance.choice(known) if known and chance.random() < 0.7 else (1 << _CPUS) - 1
        if chance.random() < 0.5:  # but for what a sibling has
            for sibling in self._places:
                if sibling != place and sibling.rpartition("/")[0] == parent:
                    whole &= ~self._sets.get(f"{sibling}/{file}", 0)
        some = chance.randrange(1 << _CPUS) | chance.randrange(1 << _CPUS) * chance.choice((0, 1))
        return whole & some or whole

    def _write_set(self, file: str) -> Ops:
        path = f"{self._place()}/{file}"
        cpus = 0 if self._chance.random() < 0.06 else self._cpus(path)
        self._sets[path] = cpus
        return [("write", path, format_cpus(cpus) or "\n"), *self._look(), *self._look()]

    def _set_exclusive(self) -> Ops:
        return self._write_set("cpuset.cpus.exclusive")

    def _set_cpus(self) -> Ops:
        return self._write_set("cpuset.cpus")

    def _set_partition(self) -> Ops:
        path = f"{self._place()}/cpuset.cpus.partition"
        kind = self._chance.choice(("root", "root", "isolated", "isolated", "member"))
        return [("write", path, kind), ("read", path), *self._look(), *self._look()]

    def _move_cpu(self) -> Ops:
        return [
            *move_cpu(self._chance, _CPUS, self._made),
            *self._look(),
            *self._look(),
            *look_at_affinity(self._chance, self._made),
        ]

    def _ask(self) -> Ops:
        return ask_for_cpus(self._chance, _CPUS, self._made)

    def _set_mems(self) -> Ops:
        return [("write", f"{self._place()}/cpuset.mems", self._chance.choice(("0", "1", "0-1", "\n")))]

    # -- the tree and what is in it ---------------------------------------------------------------

    def _make(self) -> Ops:
        chance = self._chance
        parent = chance.choice(["", *(place for place in self._places if place.count("/") < _DEPTH - 1)])
        place = f"{parent}/{chance.choice(_NAMES)}".lstrip("/")
        if place in self._places or len(self._places) == _PLACES:
            return []
        self._places.append(place)
        result: Ops = [("mkdir", place)]
        if place.count("/") < _DEPTH - 1 and chance.random() < 0.85:
            result.append(("write", f"{place}/cgroup.subtree_control", "+cpuset"))
        return result

    def _remove(self) -> Ops:
        leaves = [one for one in self._places if not any(other.startswith(one + "/") for other in self._places)]
        if not leaves:
            return []
        place = self._chance.choice(leaves)
        self._places.remove(place)
        for file in _SETS:
            self._sets.pop(f"{place}/{file}", None)
        return [("rmdir", place), ("settle", _REMOVED), *self._look(), *self._look()]

    def _control(self) -> Ops:
        chance = self._chance
        path = f"{self._place()}/cgroup.subtree_control"
        if chance.random() < 0.5:
            return [("write", path, "+cpuset"), *self._look()]
        return [("write", path, "-cpuset"), ("settle", _REMOVED), ("write", path, "+cpuset"), *self._look()]

    def _move(self) -> Ops:
        chance = self._chance
        result: Ops = []
        left = [name for name in _PROCESSES if name not in self._made]
        if left and (not self._made or chance.random() < 0.3):
            self._made.append(left[0])
            result.append(("fork", left[0]))
        name = chance.choice(self._made)
        result.append(
            ("write", f"{self._place()}/cgroup.procs" if chance.random() < 0.85 else "cgroup.procs", f"${name}")
        )
        if chance.random() < 0.08:
            self._made.remove(name)
            result += [("kill", name), ("settle", 20), ("wait", name)]
        if self._hotplug:
            result += look_at_affinity(chance, self._made)
        return [*result, *self._look()]

    def _as_user(self) -> Ops:
        """Somebody without privileges, who owns the files, does the same."""
        place = self._place()
        result: Ops = []
        for file in (*(_SETS if self._exclusive else _SETS[:1]), "cpuset.cpus.partition"):
            result.append(("chown", f"{place}/{file}", 1000, 1000))
        result.append(("as", 1000, 1000))
        for _ in range(self._chance.randint(1, 3)):
            file = self._chance.choice((*(_SETS if self._exclusive else _SETS[:1]), "cpuset.cpus.partition"))
            path = f"{place}/{file}"
            if file == "cpuset.cpus.partition":
                result.append(("write", path, self._chance.choice(("root", "isolated", "member"))))
            else:
                self._sets[path] = cpus = self._cpus(path)
                result.append(("write", path, format_cpus(cpus)))
            result += self._look()
        return [*result, ("as", 0, 0), *self._look()]


_SETS = ("cpuset.cpus", "cpuset.cpus.exclusive")


def format_cpus(cpus: int) -> str:
    """A set of CPUs as its files take it: ``0,2``."""
    return ",".join(str(cpu) for cpu in range(cpus.bit_length()) if cpus >> cpu & 1)
