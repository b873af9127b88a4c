"""The order of writes: every state between is legal, and no limit is looser or tighter than both before and after.

Three passes over all cgroups, found ones and new ones:

* ``lower``, children first: each value goes down to the lower of the found and the wanted one.
* ``make``, parents first: each value goes up to the wanted one.
* ``settle``, children first: a list of CPUs gives back the CPUs that it held for a moment only.

After ``lower`` the tree has the lower values. The effective limit of a cgroup is the least of its own and its
ancestors', so it is the lower of the limits before and after. The kernel demands no more than "a child is not over its
parent" (v1's CPU quota and cpuset). If that holds for the found and for the wanted tree, it holds for the lower values.

A *need* is a write that must leave this range for a moment, and says why: v1's quota and period are two files; a list
of CPUs moves while children hold CPUs that it loses. An *obstacle* is a cgroup of someone else that makes every order
impossible; the write that will be refused names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.cpu_lists import CpuLists
from cgroup_engine.plan.transition import Transition
from cgroup_engine.plan.v1_quotas import V1Quotas
from cgroup_engine.plan.write import NO_WRITES, PassWrites, Write, same_setting, writes_between
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import CPUS, MEMORY_AND_SWAP, V1_QUOTA, Knob, Setting


class Order:
    """Gives the writes of each pass, cgroup by cgroup; the caller asks for children before their parents.

    ``wanted_setting``: path and knob -> the wanted setting, None if there is none. ``gone``: paths of cgroups that are
    removed before.
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
        transition = Transition(wanted, found, gone, wanted_setting)
        self._quotas = V1Quotas(transition)
        self.cpus = CpuLists(transition)

    def writes(self, cgroup: WantedCgroup, knob: Knob, new: Setting) -> PassWrites:
        """The writes that bring one knob of a cgroup from the found setting to ``new``; none if both are the same.

        :raises RootError: something there cannot be read.
        """
        there = self.found.get(cgroup.path)
        old = there.setting(knob) if there is not None else None
        if old is not None and same_setting(knob, old, new):
            return NO_WRITES
        if knob is CPUS:
            return self.cpus.v1_writes(cgroup, new) if self.version == 1 else self.cpus.v2_writes(cgroup, old, new)
        if old is None:
            is_default = same_setting(knob, knob.default, new)
            return NO_WRITES if is_default else PassWrites(make=writes_between(knob, knob.default, new))
        if knob is V1_QUOTA:
            return self._quotas.writes(cgroup.path, old, new)
        between = _lower_of(knob, old, new)
        make = writes_between(knob, between, new)
        if make and knob.field == "memory" and there is not None and self.version == 1 and self.found.layout.swap:
            make[:0] = _without_memsw_limit(there.setting(MEMORY_AND_SWAP), new)
        return PassWrites(lower=writes_between(knob, old, between), make=make)


def _lower_of(knob: Knob, old: Setting, new: Setting) -> Setting:
    """The lower of both settings, file by file; the old one if settings have no order."""

    def size(text: str) -> float:
        return knob.size((text,) * len(knob.files))

    return tuple(want if size(want) < size(have) else have for have, want in zip(old, new, strict=True))


def _without_memsw_limit(found: Setting | None, new: Setting) -> list[Write]:
    """Lifts memory.memsw.limit_in_bytes, if memory.limit_in_bytes would exceed it, which the kernel refuses.

    A wanted tree without swap does not set it, so it gets the kernel's default, no limit.
    """
    if found is None or MEMORY_AND_SWAP.size(new * 2) <= MEMORY_AND_SWAP.size(found[1:] * 2):
        return []
    return [Write(MEMORY_AND_SWAP, MEMORY_AND_SWAP.files[1], "-1")]
