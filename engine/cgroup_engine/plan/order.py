"""In which order values are written, so that every state between is legal, and as near to both ends as can be.

Three passes over the cgroups that are there and those that are made:

* ``lower``, children first: every value goes down to the lower of what is there and what is wanted.
* ``make``, parents first: every value goes up to what is wanted.
* ``settle``, children first: what had to hold more than is wanted for a moment gives it back.

Between the first two stands the tree of the lower values. A limit counts as the least on the way up, so each cgroup
has the lower of its two limits in effect there: nothing is ever looser or tighter than both ends. The kernel wants no
more than "a child is not over its parent" (v1's CPU quota and cpuset), and where that holds of two trees it holds of
the lower values too.

What cannot be had so is a *need*, and the write says so: v1's quota and period are two files; a list of CPUs moves
while children hold what it leaves. What no order can reach, since a cgroup that is not the engine's is in the way, is
an *obstacle*, and the write names it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import CPUS, MEMORY_AND_SWAP, V1_QUOTA, Knob, Setting

Pass = Literal["remove", "lower", "make", "settle"]


@dataclass(frozen=True)
class Write:
    """One write(2). ``need``: why the state after it is not between both ends. ``obstacle``: what will refuse it."""

    knob: Knob
    file: str
    text: str
    need: str = ""
    obstacle: str = ""


@dataclass
class Legs:
    """The writes of one knob of one cgroup in each pass."""

    lower: list[Write] = field(default_factory=list)
    make: list[Write] = field(default_factory=list)
    settle: list[Write] = field(default_factory=list)

    def of(self, during: Pass) -> list[Write]:
        return {"lower": self.lower, "make": self.make, "settle": self.settle}.get(during, [])


class Order:
    """Legs, cgroup by cgroup; the caller asks children before their parents.

    ``wanted_setting``: what is wanted in a cgroup, of a knob; None where nothing is. ``gone``: the paths of cgroups
    that are removed before.
    """

    def __init__(
        self,
        wanted: Mapping[str, WantedCgroup],
        found: FoundTree,
        gone: Collection[str],
        wanted_setting: Callable[[str, Knob], Setting | None],
    ) -> None:
        self.found = found
        self.version = found.layout.version
        tree = _Tree(wanted, found, gone, wanted_setting)
        self._quotas = _Quotas(tree)
        self.cpus = _Cpus(tree)

    def legs(self, cgroup: WantedCgroup, knob: Knob, new: Setting) -> Legs:
        """The writes that bring one knob of a cgroup from what is found to ``new``; none if that is the same.

        :raises RootError: something there cannot be read.
        """
        there = self.found.get(cgroup.path)
        old = there.setting(knob) if there is not None else None
        if old is not None and _same(knob, old, new):
            return Legs()
        if knob is CPUS:
            return self.cpus.legs(cgroup, new) if self.version == 1 else self.cpus.direct_legs(cgroup, old, new)
        if old is None:
            return Legs(make=_writes(knob, knob.default, new)) if not _same(knob, knob.default, new) else Legs()
        if knob is V1_QUOTA:
            return self._quotas.legs(cgroup.path, old, new)
        between = _lower_of(knob, old, new)
        legs = Legs(lower=_writes(knob, old, between), make=_writes(knob, between, new))
        if legs.make and knob.field == "memory" and there is not None and self.version == 1 and self.found.layout.swap:
            legs.make[:0] = _memsw_out_of_the_way(there.setting(MEMORY_AND_SWAP), new)
        return legs


def _same(knob: Knob, found: Setting, wanted: Setting) -> bool:
    return found == wanted or all(
        knob.same(want, have, file) for want, have, file in zip(wanted, found, knob.files, strict=True)
    )


def _writes(knob: Knob, old: Setting, new: Setting) -> list[Write]:
    return [Write(knob, file, text) for file, text in knob.writes(old, new)]


def _lower_of(knob: Knob, old: Setting, new: Setting) -> Setting:
    """File by file the lower of both, the old one where there is no order."""

    def size(text: str) -> float:
        return knob.size((text,) * len(knob.files))

    return tuple(want if size(want) < size(have) else have for have, want in zip(old, new, strict=True))


def _memsw_out_of_the_way(found: Setting | None, new: Setting) -> list[Write]:
    """memory.limit_in_bytes may not be over memory.memsw.limit_in_bytes, of which a wanted tree without swap says
    nothing: then it is the kernel's default, no limit.
    """
    if found is None or MEMORY_AND_SWAP.size(new * 2) <= MEMORY_AND_SWAP.size(found[1:] * 2):
        return []
    return [Write(MEMORY_AND_SWAP, MEMORY_AND_SWAP.files[1], "-1")]


@dataclass(frozen=True)
class _Tree:
    """The found tree and the wanted one together."""

    wanted: Mapping[str, WantedCgroup]
    found: FoundTree
    gone: Collection[str]
    wanted_setting: Callable[[str, Knob], Setting | None]

    def found_setting(self, path: str, knob: Knob) -> Setting:
        there = self.found.get(path)
        return (there.setting(knob) if there is not None else None) or knob.default

    def final_setting(self, path: str, knob: Knob) -> Setting:
        wanted = self.wanted_setting(path, knob)
        return self.found_setting(path, knob) if wanted is None else wanted

    def children(self, path: str) -> Iterator[str]:
        """The children that are there and stay."""
        there = self.found.get(path)
        for name in there.children if there is not None else ():
            child = f"{path}/{name}" if path else name
            if child not in self.gone:
                yield child


class _Quotas:
    """v1's CPU quota: what counts is quota/period, of a cgroup without a quota that of the nearest one above with one.

    No cgroup may have more than that, nor less than one below, after each write (tg_cfs_schedulable_down).
    """

    def __init__(self, tree: _Tree) -> None:
        self._tree = tree
        self._lowered: dict[str, Setting] = {}

    def legs(self, path: str, old: Setting, new: Setting) -> Legs:
        """What begins or ends to be limited while what is above it goes up or down takes the setting that is there for
        a moment: without a quota it would follow, and with its own it would be over what is above, or keep it up.
        """
        parent, size = path.rpartition("/")[0], V1_QUOTA.size(new)
        above_before, limiting_before = self._above(parent, self._found)
        above_after, limiting_after = self._above(parent, self._final)
        before, after = min(V1_QUOTA.size(old), above_before), min(size, above_after)
        obstacle = self._obstacle_above(path, size)
        begins, ends = math.isinf(V1_QUOTA.size(old)), math.isinf(size)
        between = old
        if not ends and (after < before or (begins and after == before)):
            between, obstacle = new, obstacle or self._obstacle_below(path, size)
        elif ends and after < before:
            between = self._final(limiting_after) if before < above_before else new
            obstacle = obstacle or self._obstacle_below(path, after)
        elif begins and not ends and after < above_after:
            between = self._found(limiting_before)
        self._lowered[path] = old if obstacle else between  # it will be refused then
        return Legs(
            lower=self._path(path, old, between, above_before, obstacle),
            make=self._path(path, between, new, above_after, obstacle),
        )

    def _path(self, path: str, old: Setting, new: Setting, above: float, obstacle: str) -> list[Write]:
        if _same(V1_QUOTA, old, new):
            return []
        low, high = sorted((V1_QUOTA.size(old), V1_QUOTA.size(new)))
        both = old[1] != new[1] and old[0] != new[0]
        state, writes = dict(zip(V1_QUOTA.files, old, strict=True)), []
        for file, text in V1_QUOTA.writes(old, new, self._below(path) if both else math.inf, above):
            state[file] = text
            size = V1_QUOTA.size(tuple(state.values()))
            need = "" if low <= min(size, max(above, high)) <= high else "a moment: quota and period are two files"
            writes.append(Write(V1_QUOTA, file, text, need, obstacle))
        return writes

    def _found(self, path: str) -> Setting:
        return self._tree.found_setting(path, V1_QUOTA)

    def _final(self, path: str) -> Setting:
        return self._tree.final_setting(path, V1_QUOTA)

    def _above(self, path: str, setting: Callable[[str], Setting]) -> tuple[float, str]:
        """The ratio of the nearest limited cgroup from here up, and its path."""
        while path:
            size = V1_QUOTA.size(setting(path))
            if not math.isinf(size):
                return size, path
            path = path.rpartition("/")[0]
        return math.inf, ""

    def _below(self, path: str) -> float:
        """The greatest ratio below a cgroup after the pass ``lower``."""
        greatest = 0.0
        for child in self._tree.children(path):
            size = V1_QUOTA.size(self._lowered.get(child) or self._found(child))
            greatest = max(greatest, self._below(child) if math.isinf(size) else size)
        return greatest

    def _obstacle_above(self, path: str, size: float) -> str:
        above, whose = self._above(path.rpartition("/")[0], self._final)
        if size <= above or math.isinf(size) or self._tree.wanted_setting(whose, V1_QUOTA) is not None:
            return ""
        return _quota_obstacle(whose, self._final(whose), "less than is wanted below it", "raise")

    def _obstacle_below(self, path: str, size: float) -> str:
        for child in self._tree.children(path):
            have = V1_QUOTA.size(self._final(child))
            if math.isinf(have) or self._tree.wanted_setting(child, V1_QUOTA) is not None:
                if math.isinf(have) and (obstacle := self._obstacle_below(child, size)):
                    return obstacle
            elif have > size:
                return _quota_obstacle(child, self._final(child), "more than is wanted above it", "lower")
        return ""


def _quota_obstacle(path: str, setting: Setting, what: str, verb: str) -> str:
    quota, period = setting
    return f"{verb} cpu.cfs_quota_us of /{path}, not managed by this engine: {quota} of {period} µs are {what}"


class _Cpus:
    """v1's cpuset.cpus: no cgroup may have a CPU that its parent has not, nor give up one that a child has.

    (validate_change: EACCES, EBUSY.) A task cannot enter where there is none, so that a cgroup for which nothing is
    wanted has what its parent has, as far as it had nothing or too much.
    """

    def __init__(self, tree: _Tree) -> None:
        self._tree = tree
        self._finals: dict[str, frozenset[int]] = {}
        self._lowered: dict[str, frozenset[int]] = {}
        self._given_below: dict[str, frozenset[int]] = {}
        for path, cgroup in tree.wanted.items():
            if CPUS.given(cgroup.limits) and (given := tree.wanted_setting(path, CPUS)):
                cpus = parse_cpu_list(given[0].strip())
                while path := path.rpartition("/")[0]:
                    self._given_below[path] = self._given_below.get(path, frozenset()) | cpus

    def wanted(self, path: str) -> Setting | None:
        """What a cgroup of ours should have, with what v1 wants; None if that is what it has."""
        final = self._final(path)
        if final == self._found(path):
            return None
        given = self._tree.wanted_setting(path, CPUS)
        return (cpu_list(final),) if given is None else given

    def legs(self, cgroup: WantedCgroup, new: Setting) -> Legs:
        path = cgroup.path
        [file] = CPUS.files
        old, final = self._found(path), self._final(path)
        held = frozenset[int]().union(*(self._after_lowering(child) for child in self._tree.children(path)))
        last = Write(CPUS, file, new[0], obstacle=self._obstacle(path, final))
        if old and final < old:
            if held <= final:
                self._lowered[path] = final
                return Legs(lower=[last])
            return Legs(settle=[last])
        if held <= final:
            return Legs(make=[last])
        need = "a moment with both: children still have CPUs that it leaves"
        return Legs(make=[Write(CPUS, file, cpu_list(final | held), need, last.obstacle)], settle=[last])

    def direct_legs(self, cgroup: WantedCgroup, old: Setting | None, new: Setting) -> Legs:
        """v2, where a child may ask for more than its parent has, and has what is in both, or else what its parent has.

        Before 6.1 a parent may not give up what a child asks for: the children's are written first.
        """
        [file] = CPUS.files
        if old is None:
            return Legs(make=[Write(CPUS, file, new[0])])
        final = parse_cpu_list(new[0].strip())
        need = "" if not final or final & self._in_effect(cgroup.parent) else "a moment with what the cgroup above had"
        return Legs(lower=[Write(CPUS, file, new[0], need)])

    def _in_effect(self, path: str) -> frozenset[int]:
        if not path:
            return self._found(path)
        above = self._in_effect(path.rpartition("/")[0])
        return self._found(path) & above or above

    def _after_lowering(self, path: str) -> frozenset[int]:
        return self._lowered[path] if path in self._lowered else self._found(path)

    def _found(self, path: str) -> frozenset[int]:
        if not path:
            return parse_cpu_list(self._tree.found.layout.cpus or "")
        return parse_cpu_list(self._tree.found.cpuset(path, CPUS.files[0]))

    def _final(self, path: str) -> frozenset[int]:
        if path not in self._finals:
            self._finals[path] = self._found(path) if not path else self._computed(path)
        return self._finals[path]

    def _computed(self, path: str) -> frozenset[int]:
        given, found = self._tree.wanted_setting(path, CPUS), self._found(path)
        if given is not None:
            return parse_cpu_list(given[0].strip())
        cgroup = self._tree.wanted.get(path)
        if cgroup is None or cgroup.level == "reserved":
            return found
        above = self._final(path.rpartition("/")[0])
        if not found or cgroup.level in ("root", "system", "runtime"):
            return found or above
        return found & above | self._given_below.get(path, frozenset()) or above

    def _obstacle(self, path: str, final: frozenset[int]) -> str:
        parent = path.rpartition("/")[0]
        lacking = final - self._final(parent)
        if lacking:
            return f"give /{parent} CPUs {cpu_list(lacking)} (cpuset.cpus), not managed by this engine"
        for child in self._tree.children(path):
            more = self._final(child) - final
            if more:
                return f"take CPUs {cpu_list(more)} from /{child} (cpuset.cpus), not managed by this engine"
        return self._exclusive_sibling(path, parent, final)

    def _exclusive_sibling(self, path: str, parent: str, final: frozenset[int]) -> str:
        """Of a parent that is not exclusive no child is."""
        if not self._is_exclusive(parent):
            return ""
        for sibling in self._tree.children(parent):
            both = self._final(sibling) & final
            if sibling != path and both:
                for owner in (sibling, path):
                    if self._is_exclusive(owner):
                        return (
                            f"write 0 to cpuset.cpu_exclusive of /{owner}: CPUs {cpu_list(both)} are wanted beside it"
                        )
        return ""

    def _is_exclusive(self, path: str) -> bool:
        return self._tree.found.cpuset(path, "cpuset.cpu_exclusive") == "1"
