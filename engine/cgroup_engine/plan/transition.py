"""The transition from the found tree to the wanted one: settings before and after."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import Knob, Setting


@dataclass(frozen=True)
class Transition:
    """The settings of each cgroup before (found) and after (final); ``gone``: paths of cgroups that are removed."""

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
        """The found children that stay."""
        there = self.found.get(path)
        for name in there.children if there is not None else ():
            child = f"{path}/{name}" if path else name
            if child not in self.gone:
                yield child
