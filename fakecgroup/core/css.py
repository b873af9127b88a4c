"""Controllers, and the state they keep per cgroup (the kernel's cgroup_subsys and cgroup_subsys_state)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..named_tuple import NamedTuple
from .cftype import CFType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..credentials.caller import Caller
    from ..machine.machine import Machine
    from ..machine.personality import Personality
    from .cgroup import Cgroup


_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {}  # of controllers, for cgroups to share: each to itself


class Css:
    """The state of one controller in one cgroup.

    A subclass gives every value a default as a class attribute and sets it on the instance only when it is written, so
    an untouched css costs next to nothing. `owner` is the (uid, gid) of the css's new files: of the task that made the
    cgroup, or that enabled the controller.
    """

    owner: tuple[int, int] = (0, 0)
    takes_memory = 0  # kinds of charges that move along with a process that comes here: charges.ANON, FILE

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

    def forget_counts(self) -> None:
        """Reset what its files of counts began with."""
        for file in self.cgroup.files.values():
            if file.css is self and file.row.counts:
                file.baseline = None

    def online(self) -> None:
        """Start the css, which is in its tree already; inherit from the parent.

        May raise what mkdir is refused with. Then `offline` is called.
        """

    def offline(self) -> None:
        """End the css: its cgroup is removed or its controller disabled."""

    def can_attach(self) -> None:
        """Check that a task may move into this part of the tree from outside; charge nothing. Raises the refusal."""

    def can_be_moved_by(self, tids: Collection[int], source: Cgroup, writer: Caller) -> None:
        """Check that `writer` may move these tasks here, the first of them from `source`. Raises the refusal."""

    def can_fork(self) -> None:
        """Check that a task here may fork; charge nothing. Raises the refusal."""

    def charge_task(self, count: int) -> None:
        """Account for `count` more tasks (negative: fewer) in this css and those above it."""

    def attached(self, tids: Collection[int], source: Css | None) -> None:
        """Note that tasks have come here, the first of them from `source`."""

    def started(self, tid: int) -> None:
        """Note that a task was started here by one of another css (css_fork)."""

    def adopted(self, tid: int) -> None:
        """Note that a task was found here which nobody was told of, started perhaps by one of another css."""

    def vet_offline(self, cpu: int) -> None:
        """Check that a CPU may be taken offline. The root's csses are asked. Raises the refusal."""

    def cpus_changed(self) -> None:
        """Note that a CPU of the machine has come or gone. The root's csses are told."""

    def memory_changed(self, spike: int) -> None:
        """Note that the memory of processes here and below has changed, and for a moment was `spike` bytes more."""

    def adopt_tasks(self, count: int) -> None:
        """Account for `count` tasks in the part of the tree that this new css takes over from its parent."""


class Csses:
    """The csses of one cgroup by controller.

    A css with nothing to do when its cgroup is made is made on first access. Until then it is only promised. Most csses
    of most cgroups are never accessed, and all cgroups with the same promises share them. The cgroup keeps both, not
    this view of them, so that it is in no reference cycle.
    """

    __slots__ = ("_cgroup",)

    def __init__(self, cgroup: Cgroup) -> None:
        self._cgroup = cgroup

    def __contains__(self, name: str) -> bool:
        return name in self._cgroup.made_for or name in self._cgroup.promised

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the hierarchy's controllers."""
        made, promised = self._cgroup.made_for, self._cgroup.promised
        return (name for name in self._cgroup.hierarchy.controllers if name in made or name in promised)

    def __getitem__(self, name: str) -> Css:
        cgroup = self._cgroup
        if name in cgroup.made_for:
            return cgroup.made[cgroup.made_for.index(name)]
        parent = cgroup.parent
        css = cgroup.promised[name].css(cgroup, None if parent is None else parent.csses.get(name))
        if cgroup.owner != (0, 0):
            css.owner = cgroup.owner
        self[name] = css
        return css

    def get(self, name: str) -> Css | None:
        cgroup = self._cgroup
        if name in cgroup.made_for:
            return cgroup.made[cgroup.made_for.index(name)]
        return self[name] if name in cgroup.promised else None

    def __setitem__(self, name: str, css: Css) -> None:
        cgroup = self._cgroup
        self._forget(name)
        names = (*cgroup.made_for, name)
        cgroup.made_for = _NAMES.setdefault(names, names)
        cgroup.made = (*cgroup.made, css)

    def __delitem__(self, name: str) -> None:
        cgroup = self._cgroup
        cgroup.promised = cgroup.hierarchy.promise(cgroup.promised.keys() - {name})
        self._forget(name)

    def _forget(self, name: str) -> None:
        cgroup = self._cgroup
        if name in cgroup.made_for:
            at = cgroup.made_for.index(name)
            names = (*cgroup.made_for[:at], *cgroup.made_for[at + 1 :])
            cgroup.made_for = _NAMES.setdefault(names, names)
            cgroup.made = (*cgroup.made[:at], *cgroup.made[at + 1 :])

    def made(self) -> list[Css]:
        """The csses that exist."""
        made, names = self._cgroup.made, self._cgroup.made_for
        return [made[names.index(name)] for name in self._cgroup.hierarchy.controllers if name in names]


Table = tuple[CFType, ...] | Callable[[], tuple[CFType, ...]]
"""Rows, or what gives them: the files of a large controller are loaded when somebody looks at them."""


class Controller(NamedTuple):
    """One controller: its css type and its two tables of files.

    `dfl` rows appear on the unified hierarchy, `legacy` rows on a v1 hierarchy. `dfl_base` rows appear on the unified
    hierarchy even without the controller; their functions get the `Cgroup`. A `threaded` controller may be enabled
    beside processes (Documentation/admin-guide/cgroup-v2.rst, "Threads"). `config` is the build option that the
    controller needs, `legacy_config` the one that its v1 files need. On the unified hierarchy, a controller in
    `depends_on` that is off has a css without files wherever this one is on. `legacy_name` is its name on v1, if that
    differs (cgroup_subsys.legacy_name).
    """

    name: str
    css: type[Css]
    dfl: Table = ()
    dfl_base: Table = ()
    legacy: Table = ()
    threaded: bool = False
    depends_on: tuple[str, ...] = ()
    config: str | None = None
    legacy_config: str | None = None
    legacy_name: str | None = None

    @property
    def told_of_tasks(self) -> bool:
        """True if its css has something to do when tasks come."""
        return self.css.attached is not Css.attached

    @property
    def at_once(self) -> bool:
        """True if its css has something to do when the cgroup is made."""
        return self.css.online is not Css.online

    @property
    def dfl_rows(self) -> tuple[CFType, ...]:
        return _rows(self.dfl)

    @property
    def dfl_base_rows(self) -> tuple[CFType, ...]:
        return _rows(self.dfl_base)

    @property
    def legacy_rows(self) -> tuple[CFType, ...]:
        return _rows(self.legacy)


def _rows(table: Table) -> tuple[CFType, ...]:
    return table() if callable(table) else table
