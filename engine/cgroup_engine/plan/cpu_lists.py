"""The order in which lists of CPUs (cpuset.cpus) change."""

from __future__ import annotations

from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.transition import Transition
from cgroup_engine.plan.write import PassWrites, Write
from cgroup_engine.tree.knobs import CPUS, Setting


class CpuLists:
    """The writes of each cgroup's list, by pass; ask for children before their parents.

    v1: a cgroup may not have a CPU that its parent lacks, nor give up one that a child has (validate_change: EACCES,
    EBUSY). No task enters a cgroup without CPUs. So a cgroup without a wanted list gets its parent's CPUs if its list
    is empty, and loses the CPUs that its parent lacks.
    """

    def __init__(self, transition: Transition) -> None:
        self._transition = transition
        self._finals: dict[str, frozenset[int]] = {}
        self._lowered: dict[str, frozenset[int]] = {}
        self._given_below: dict[str, frozenset[int]] = {}
        for path, cgroup in transition.wanted.items():
            if CPUS.given(cgroup.limits) and (given := transition.wanted_setting(path, CPUS)):
                cpus = parse_cpu_list(given[0].strip())
                while path := path.rpartition("/")[0]:
                    self._given_below[path] = self._given_below.get(path, frozenset()) | cpus

    def wanted(self, path: str) -> Setting | None:
        """The list that a cgroup of this engine should have on v1; None if it has that already."""
        final = self._final(path)
        if final == self._found(path):
            return None
        given = self._transition.wanted_setting(path, CPUS)
        return (cpu_list(final),) if given is None else given

    def v1_writes(self, cgroup: WantedCgroup, new: Setting) -> PassWrites:
        path = cgroup.path
        [file] = CPUS.files
        old, final = self._found(path), self._final(path)
        held = frozenset[int]().union(*(self._after_lowering(child) for child in self._transition.children(path)))
        last = Write(CPUS, file, new[0], obstacle=self._obstacle(path, final))
        if old and final < old:
            if held <= final:
                self._lowered[path] = final
                return PassWrites(lower=[last])
            return PassWrites(settle=[last])
        if held <= final:
            return PassWrites(make=[last])
        need = "a moment with both: children still have CPUs that it leaves"
        return PassWrites(make=[Write(CPUS, file, cpu_list(final | held), need, last.obstacle)], settle=[last])

    def v2_writes(self, cgroup: WantedCgroup, old: Setting | None, new: Setting) -> PassWrites:
        """v2: a child may ask for CPUs that its parent lacks; it runs on those that both have, or else on the parent's.

        Before 6.1 a parent may not give up a CPU that a child asks for, so the children are written first.
        """
        [file] = CPUS.files
        if old is None:
            return PassWrites(make=[Write(CPUS, file, new[0])])
        final = parse_cpu_list(new[0].strip())
        need = "" if not final or final & self._in_effect(cgroup.parent) else "a moment with what the cgroup above had"
        return PassWrites(lower=[Write(CPUS, file, new[0], need)])

    def _in_effect(self, path: str) -> frozenset[int]:
        if not path:
            return self._found(path)
        above = self._in_effect(path.rpartition("/")[0])
        return self._found(path) & above or above

    def _after_lowering(self, path: str) -> frozenset[int]:
        return self._lowered[path] if path in self._lowered else self._found(path)

    def _found(self, path: str) -> frozenset[int]:
        if not path:
            return parse_cpu_list(self._transition.found.layout.cpus or "")
        return parse_cpu_list(self._transition.found.cpuset(path, CPUS.files[0]))

    def _final(self, path: str) -> frozenset[int]:
        if path not in self._finals:
            self._finals[path] = self._found(path) if not path else self._computed(path)
        return self._finals[path]

    def _computed(self, path: str) -> frozenset[int]:
        given, found = self._transition.wanted_setting(path, CPUS), self._found(path)
        if given is not None:
            return parse_cpu_list(given[0].strip())
        cgroup = self._transition.wanted.get(path)
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
        for child in self._transition.children(path):
            more = self._final(child) - final
            if more:
                return f"take CPUs {cpu_list(more)} from /{child} (cpuset.cpus), not managed by this engine"
        return self._exclusive_sibling(path, parent, final)

    def _exclusive_sibling(self, path: str, parent: str, final: frozenset[int]) -> str:
        """A sibling with common CPUs, if one of both is exclusive. Only an exclusive parent has exclusive children."""
        if not self._is_exclusive(parent):
            return ""
        for sibling in self._transition.children(parent):
            both = self._final(sibling) & final
            if sibling != path and both:
                for owner in (sibling, path):
                    if self._is_exclusive(owner):
                        return (
                            f"write 0 to cpuset.cpu_exclusive of /{owner}: CPUs {cpu_list(both)} are wanted beside it"
                        )
        return ""

    def _is_exclusive(self, path: str) -> bool:
        return self._transition.found.cpuset(path, "cpuset.cpu_exclusive") == "1"
