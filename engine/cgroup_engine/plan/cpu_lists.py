"""The order in which lists of CPUs change."""

from __future__ import annotations

from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.transition import Transition
from cgroup_engine.plan.write import PassWrites, Write
from cgroup_engine.tree.knobs import CPUS, Setting


class CpuLists:
    """v1's cpuset.cpus: no cgroup may have a CPU that its parent has not, nor give up one that a child has.

    (validate_change: EACCES, EBUSY.) A task cannot enter where there is none, so that a cgroup for which nothing is
    wanted has what its parent has, as far as it had nothing or too much.
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
        """What a cgroup of ours should have, with what v1 wants; None if that is what it has."""
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
        """v2, where a child may ask for more than its parent has, and has what is in both, or else what its parent has.

        Before 6.1 a parent may not give up what a child asks for: the children's are written first.
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
        """Of a parent that is not exclusive no child is."""
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
