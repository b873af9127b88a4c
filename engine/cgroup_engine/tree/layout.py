"""The kind of cgroup tree at a root, from its files. statfs would not tell: a FUSE tree has a type of its own.

v2: one hierarchy, with ``cgroup.controllers`` in the root. v1: each hierarchy is a directory of the root, as systemd
mounts them; ``cpu`` and ``cpuacct`` may share one (``cpu,cpuacct``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from cgroup_engine.errors import RootError, errno_name
from cgroup_engine.tree.fs import CgroupFs

Controller = Literal["cpu", "memory", "pids", "hugetlb", "cpuset"]
CONTROLLERS: tuple[Controller, ...] = ("cpu", "memory", "pids", "hugetlb", "cpuset")
#: The controllers that a kubelet demands in its cgroups on v2 (getSupportedUnifiedControllers).
V2_CONTROLLERS = ("cpu", "cpuset", "memory", "hugetlb", "pids")
_NEEDED: tuple[Controller, ...] = ("cpu", "memory")
_V1_NAMES: dict[Controller, tuple[str, ...]] = {
    "cpu": ("cpu,cpuacct", "cpu"),
    "memory": ("memory",),
    "pids": ("pids",),
    "hugetlb": ("hugetlb",),
    "cpuset": ("cpuset",),
}
# libcontainer makes every cgroup in these hierarchies too, without values of a kubelet (``fs/fs.go``: subsystems)
_V1_WITHOUT_VALUES = frozenset(
    ("blkio", "cpuacct", "devices", "freezer", "net_cls", "net_prio", "perf_event", "rdma", "systemd")
)
_V1_DEMANDED = frozenset(("cpu", "cpuacct", "cpuset", "memory", "pids", "hugetlb", "systemd"))
# a file that shows that a hierarchy is mounted already, under another name
_V1_MARKS = {"cpuacct": "cpuacct.usage", "net_cls": "net_cls.classid", "net_prio": "net_prio.prioidx"}


@dataclass(frozen=True)
class Layout:
    """Where a root has its controllers.

    ``hierarchies``: the directories of the root in which the engine makes each cgroup; v2 has one, "".
    ``hierarchy_of``: controller -> its hierarchy. ``swap``: does the memory controller account for swap?
    ``available``: all controllers of v2's root, in its order; the kubelet enables each of them for children.
    ``cpus``: the list of all CPUs, None if there is no cpuset.
    """

    version: Literal[1, 2]
    hierarchies: tuple[str, ...]
    hierarchy_of: Mapping[Controller, str]
    swap: bool = True
    available: tuple[str, ...] = ()
    cpus: str | None = None

    def directory(self, hierarchy: str, cgroup: str) -> str:
        """The path of a cgroup's directory in a hierarchy, relative to the root."""
        return f"{hierarchy}/{cgroup}" if hierarchy and cgroup else hierarchy or cgroup

    def file(self, controller: Controller, cgroup: str, name: str) -> str:
        """The path of an interface file, relative to the root."""
        directory = self.directory(self.hierarchy_of[controller], cgroup)
        return f"{directory}/{name}" if directory else name

    @property
    def demanded(self) -> tuple[str, ...]:
        """The hierarchies in which a kubelet demands a cgroup to exist (getSupportedSubsystems and cpuset, systemd)."""
        return tuple(name for name in self.hierarchies if not name or _V1_DEMANDED.intersection(name.split(",")))

    @property
    def name(self) -> str:
        return f"v{self.version}"


def detect(fs: CgroupFs, shown_root: str) -> Layout:
    """The layout of a root; ``shown_root`` is its name in messages.

    :raises RootError: not a cgroup tree, not readable, or without the cpu or memory controller.
    """
    try:
        names = fs.listdir("")
    except OSError as failed:
        raise RootError(
            f"{shown_root}: cannot be read: {errno_name(failed.errno or 0)}",
            path=shown_root,
            errno=failed.errno,
            todo="give the mount point of a cgroup tree",
        ) from None
    if "cgroup.controllers" in names:
        return _v2(fs, shown_root)
    return _v1(fs, shown_root)


def all_hierarchies(fs: CgroupFs, layout: Layout) -> tuple[str, ...]:
    """Every hierarchy of a root, also those that only runtimes make cgroups in.

    Raises OSError.
    """
    if layout.version == 2:
        return layout.hierarchies
    return tuple(_plain_names(fs.subdirectories("")))


def _v2(fs: CgroupFs, shown_root: str) -> Layout:
    try:
        available = fs.read("cgroup.controllers").split()
    except OSError as failed:
        raise RootError(
            f"{shown_root}/cgroup.controllers: cannot be read: {errno_name(failed.errno or 0)}",
            path=shown_root,
            errno=failed.errno,
        ) from None
    found: dict[Controller, str] = {name: "" for name in CONTROLLERS if name in available}
    _check_needed(found, shown_root, "cgroup.controllers does not name it", "enable it or boot with it on cgroup v2")
    cpus = _text(fs, "cpuset.cpus.effective") if "cpuset" in found else None
    return Layout(2, ("",), found, _v2_swap(fs), tuple(available), cpus)


def _v2_swap(fs: CgroupFs) -> bool:
    """Has the kernel memory.swap.max? The root has no such file. Without any cgroup below it the answer is yes."""
    for name in fs.subdirectories(""):
        if _readable(fs, f"{name}/memory.max"):
            return _readable(fs, f"{name}/memory.swap.max")
    return True


def _v1(fs: CgroupFs, shown_root: str) -> Layout:
    found: dict[Controller, str] = {}
    for controller, names in _V1_NAMES.items():
        for name in names:
            if controller not in found and _is_hierarchy(fs, name):
                found[controller] = name
    if not found:
        raise RootError(
            f"{shown_root}: is no cgroup tree: it has neither cgroup.controllers (v2) nor hierarchies such as cpu (v1)",
            path=shown_root,
            todo="give the mount point of a cgroup tree, such as /sys/fs/cgroup",
        )
    _check_needed(found, shown_root, "there is no such hierarchy", "mount it")
    hierarchies = list(found.values())
    for name in _plain_names(fs.subdirectories("")):
        controllers = name.split(",")
        if name not in hierarchies and _V1_WITHOUT_VALUES.intersection(controllers) and _is_hierarchy(fs, name):
            marks = [_V1_MARKS[each] for each in controllers if each in _V1_MARKS]
            if not any(_readable(fs, f"{other}/{mark}") for mark in marks for other in hierarchies):
                hierarchies.append(name)
    swap = _readable(fs, f"{found['memory']}/memory.memsw.limit_in_bytes")
    cpus = _text(fs, f"{found['cpuset']}/cpuset.cpus") if "cpuset" in found else None
    return Layout(1, tuple(hierarchies), found, swap, cpus=cpus)


def _plain_names(names: Iterable[str]) -> list[str]:
    """Directories of hierarchies without the aliases of shared ones (cpu -> cpu,cpuacct)."""
    given = set(names)
    return sorted(given - {alias for name in given if "," in name for alias in name.split(",")})


def _is_hierarchy(fs: CgroupFs, name: str) -> bool:
    return _readable(fs, f"{name}/cgroup.procs")


def _readable(fs: CgroupFs, path: str) -> bool:
    return _text(fs, path) is not None


def _text(fs: CgroupFs, path: str) -> str | None:
    try:
        return fs.read(path).strip()
    except OSError:
        return None


def _check_needed(found: Mapping[Controller, str], shown_root: str, why: str, todo: str) -> None:
    for name in _NEEDED:
        if name not in found:
            raise RootError(f"{shown_root}: lacks the {name} controller: {why}", path=shown_root, todo=todo)
