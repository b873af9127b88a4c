"""Controllers and the state they keep per cgroup (the kernel's cgroup_subsys and cgroup_subsys_state)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .cftype import CFType

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .caller import Caller
    from .cgroup import Cgroup
    from .machine import Machine
    from .personality import Personality


class Css:
    """The state of one controller in one cgroup.

    Subclasses give every value a default as a class attribute and set it on the instance only when it
    is written, so an untouched css costs next to nothing. `owner` is the (uid, gid) that the css's
    files get when they are made: whoever made the cgroup, or whoever enabled the controller.
    """

    owner: tuple[int, int] = (0, 0)
    takes_memory = 0  # what a process that comes here takes along of what it has charged: charges.ANON, FILE

    def __init__(self, cgroup: Cgroup, parent: Css | None) -> None:
        self.cgroup = cgroup
        self.parent = parent

    @property
    def kernel(self) -> Personality:
        return self.cgroup.hierarchy.personality

    @property
    def machine(self) -> Machine:
        return self.cgroup.hierarchy.machine

    @property
    def on_dfl(self) -> bool:
        """True on the unified hierarchy (the kernel's cgroup_subsys_on_dfl)."""
        return self.cgroup.hierarchy.dfl

    def online(self) -> None:
        """Called once the css is in its tree; a child takes over what its controller inherits.

        May raise what mkdir is refused with; `offline` follows.
        """

    def offline(self) -> None:
        """Called when its cgroup is removed or its controller disabled."""

    def can_attach(self) -> None:
        """Raises what moving a task from elsewhere into this part of the tree is refused with; charges nothing."""

    def can_be_brought(self, tids: Collection[int], source: Cgroup, writer: Caller) -> None:
        """Raises what `writer`, who moves these tasks here, is refused with; the first of them is in `source`."""

    def can_fork(self) -> None:
        """Raises what a fork in this cgroup is refused with; charges nothing."""

    def charge_task(self, count: int) -> None:
        """`count` tasks more (negative: fewer) are accounted to this css and those above it."""

    def memory_changed(self, spike: int) -> None:
        """What the processes here and below have in memory has changed; it was `spike` bytes more for a moment."""

    def adopt_tasks(self, count: int) -> None:
        """`count` tasks that its parent accounts for are in this new css's part of the tree."""


class Csses(dict[str, Css]):
    """The csses of one cgroup by controller.

    A css that has nothing to do when its cgroup is made is made when it is first asked for; until then its
    controller stands in its place. Most csses of most cgroups are never asked for.
    """

    __slots__ = ("_cgroup", "_owner")

    def __init__(self, cgroup: Cgroup) -> None:
        self._cgroup = cgroup
        self._owner = cgroup.owner

    def promise(self, controllers: Mapping[str, Controller], owner: tuple[int, int]) -> None:
        """These are on; their csses come later, and the files then belong to `owner`."""
        self._owner = owner
        self.update(cast("Mapping[str, Css]", controllers))

    def __getitem__(self, name: str) -> Css:
        found: object = dict.__getitem__(self, name)
        if isinstance(found, Css):
            return found
        assert isinstance(found, Controller)
        parent = self._cgroup.parent
        css = self[name] = found.css(self._cgroup, parent.csses.get(name) if parent is not None else None)
        if self._owner != (0, 0):
            css.owner = self._owner
        return css

    def get(self, name: str, default: Css | None = None) -> Css | None:  # type: ignore[override]
        if name not in self:
            return default
        return self[name]

    def made(self) -> list[Css]:
        """Those that have been asked for."""
        return [css for css in self.values() if isinstance(css, Css)]


@dataclass(frozen=True, slots=True, eq=False)
class Controller:
    """One controller: its css type and its two tables of files.

    `dfl` rows appear on the unified hierarchy, `legacy` rows on a v1 hierarchy; `dfl_base` rows are there
    without the controller too, and their functions get the `Cgroup`. A `threaded` controller may be enabled where
    processes are (Documentation/admin-guide/cgroup-v2.rst, "Threads"). `config` is the build option without which
    there is no such controller, `legacy_config` the one without which it has no v1 face. On the unified hierarchy a
    controller that it `depends_on` has a css, but no files, wherever this one is on and the other is not.
    `legacy_name` is what v1 calls it, where that is not its `name` (cgroup_subsys.legacy_name).
    """

    name: str
    css: type[Css]
    dfl: tuple[CFType, ...] = ()
    dfl_base: tuple[CFType, ...] = ()
    legacy: tuple[CFType, ...] = ()
    threaded: bool = False
    depends_on: tuple[str, ...] = ()
    config: str | None = None
    legacy_config: str | None = None
    legacy_name: str | None = None

    @property
    def at_once(self) -> bool:
        """Its css does something when the cgroup is made."""
        return self.css.online is not Css.online
