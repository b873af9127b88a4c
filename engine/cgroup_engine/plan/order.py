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

from collections.abc import Callable, Collection, Mapping

from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.cpu_lists import CpuLists
from cgroup_engine.plan.transition import Transition
from cgroup_engine.plan.v1_quotas import V1Quotas
from cgroup_engine.plan.write import PassWrites, Write, same_setting, writes_between
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import CPUS, MEMORY_AND_SWAP, V1_QUOTA, Knob, Setting


class Order:
    """Gives the writes of each pass, cgroup by cgroup; the caller asks for children before their parents.

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
        transition = Transition(wanted, found, gone, wanted_setting)
        self._quotas = V1Quotas(transition)
        self.cpus = CpuLists(transition)

    def writes(self, cgroup: WantedCgroup, knob: Knob, new: Setting) -> PassWrites:
        """The writes that bring one knob of a cgroup from what is found to ``new``; none if that is the same.

        :raises RootError: something there cannot be read.
        """
        there = self.found.get(cgroup.path)
        old = there.setting(knob) if there is not None else None
        if old is not None and same_setting(knob, old, new):
            return PassWrites()
        if knob is CPUS:
            return self.cpus.v1_writes(cgroup, new) if self.version == 1 else self.cpus.v2_writes(cgroup, old, new)
        if old is None:
            is_default = same_setting(knob, knob.default, new)
            return PassWrites() if is_default else PassWrites(make=writes_between(knob, knob.default, new))
        if knob is V1_QUOTA:
            return self._quotas.writes(cgroup.path, old, new)
        between = _lower_of(knob, old, new)
        writes = PassWrites(lower=writes_between(knob, old, between), make=writes_between(knob, between, new))
        if (
            writes.make
            and knob.field == "memory"
            and there is not None
            and self.version == 1
            and self.found.layout.swap
        ):
            writes.make[:0] = _memsw_out_of_the_way(there.setting(MEMORY_AND_SWAP), new)
        return writes


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
