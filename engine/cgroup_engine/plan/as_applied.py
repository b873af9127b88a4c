"""The found tree of a root on which a wanted tree was applied, without such a root; for plans without ``--root``."""

from __future__ import annotations

from collections.abc import Sequence
from errno import ENOENT

from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.steps import settings_of
from cgroup_engine.tree.found import FoundCgroup, FoundTree
from cgroup_engine.tree.fs import CgroupFs
from cgroup_engine.tree.layout import CONTROLLERS, Layout

_LAYOUT = Layout(2, ("",), dict.fromkeys(CONTROLLERS, ""), available=CONTROLLERS)


class TreeAsApplied(FoundTree):
    """The cgroups of a wanted tree as if found on cgroup v2, with their settings, and without processes."""

    def __init__(self, wanted: Sequence[WantedCgroup]) -> None:
        super().__init__(NoFiles(), _LAYOUT)
        self._cache = {cgroup.path: self._as_applied(cgroup) for cgroup in wanted}

    def _as_applied(self, cgroup: WantedCgroup) -> FoundCgroup:
        settings = {knob.field: setting for knob, setting in settings_of(cgroup, self.layout)}
        return FoundCgroup(cgroup.path, frozenset(self.layout.hierarchies), self, settings)


class NoFiles(CgroupFs):
    """A file system with nothing in it."""

    def mkdir(self, path: str) -> None:
        raise OSError(ENOENT, "nothing is there", path)

    def rmdir(self, path: str) -> None:
        raise OSError(ENOENT, "nothing is there", path)

    def read(self, path: str) -> str:
        raise OSError(ENOENT, "nothing is there", path)

    def write(self, path: str, data: str) -> None:
        raise OSError(ENOENT, "nothing is there", path)

    def listdir(self, path: str) -> list[str]:
        return []

    def is_dir(self, path: str) -> bool:
        return False
