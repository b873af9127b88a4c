"""Which kernel the model plays for a snapshot, and on which machine."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..controllers import CONTROLLERS
from ..core.css import Controller
from ..machine import options
from ..machine.learnt import LearntKernel
from ..machine.machine import KNOWN_HUGE_PAGES, NR_CPUS, HugePages, Machine
from ..machine.mount_options import of_kernel
from ..machine.mounts import V1Mount
from ..machine.personality import PERSONALITIES, Personality, SeenFiles, Version, choose
from ..named_tuple import NamedTuple
from ..parse import parse_bitlist
from .content import SeenHierarchy, Snapshot
from .errors import SnapshotError
from .fields import FieldError, Fields
from .names import shown

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
_DEVICE = re.compile(r"(\d{1,4}:\d{1,7}) ")
_HUGETLB = re.compile(r"hugetlb\.(\d+)([KMG])B\.")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_CPUS = ("cpuset.cpus.effective", "cpuset.effective_cpus")
_MEMS = ("cpuset.mems.effective", "cpuset.effective_mems")
_UNKNOWN_MEMORY = 8 << 30
# CONFIG_NR_CPUS decides how long a text cpuset.cpus of v1 takes; these two are known.
_FEW_CPUS, _MANY_CPUS = "NR_CPUS_256", "NR_CPUS_8192"


class Played(NamedTuple):
    """What the model plays, and a line for each kind of thing in which that differs from the snapshot."""

    personality: Personality
    machine: Machine
    mounts: tuple[V1Mount, ...]
    mount_options: tuple[str, ...]
    differs: list[str]


def played(snapshot: Snapshot, kernel: str | LearntKernel | None = None) -> Played:
    """What to play for a snapshot; `kernel` says another kernel. Raises SnapshotError, ValueError for the kernel."""
    differs: list[str] = []
    if kernel is not None:
        personality = (
            kernel.personality(snapshot.layout) if isinstance(kernel, LearntKernel) else choose(snapshot.layout, kernel)
        )
    elif snapshot.kernel.plays is not None:
        personality = _of_fake(snapshot)
    else:
        personality = _nearest(snapshot, differs)
    mounts = tuple(_mount(one, differs) for one in snapshot.hierarchies if not one.unified)
    return Played(
        personality,
        _machine(snapshot, differs),
        tuple(mount for mount in mounts if mount is not None),
        _options(snapshot, personality, differs),
        differs,
    )


# -- the kernel -------------------------------------------------------------------------------------


def _of_fake(snapshot: Snapshot) -> Personality:
    """The kernel that a fake played."""
    try:
        fields = Fields(snapshot.kernel.plays, "snapshot.kernel.plays")
        return Personality(
            version=_within(_version(fields.text("version"))),
            layouts=frozenset(fields.texts("layouts")) | {snapshot.layout},
            config=snapshot.kernel.config,
            release=fields.text("release", ""),
            dfl=_seen_of(fields, "dfl"),
            legacy=_seen_of(fields, "legacy"),
        )
    except FieldError as error:
        raise SnapshotError(f"{snapshot.called} is no snapshot: {error}") from None


def _seen_of(fields: Fields, side: str) -> SeenFiles | None:
    if not fields.has(side):
        return None
    seen = fields.fields(side)
    root, child = (frozenset(seen.texts(name)) if seen.has(name) else None for name in ("root", "child"))
    return SeenFiles(frozenset(seen.texts("controllers")), root, child)


def _nearest(snapshot: Snapshot, differs: list[str]) -> Personality:
    """The rules of the known kernel that is nearest, with the controllers and files that were seen."""
    release = snapshot.kernel.release
    seen = {dfl: _seen(snapshot, dfl) for dfl in (True, False)}
    version = _version(release) if release else _most_like(snapshot, seen)
    within = _within(version)
    known = max(one for one in PERSONALITIES if one <= within)
    if not release:
        differs.append("the kernel is not known: the rules of {}.{} are played, by the files".format(*known))
    elif known != version:
        differs.append(f"kernel {release} is none of the known ones: the rules of {known[0]}.{known[1]} are played")
    return Personality(
        version=within,
        layouts=frozenset([snapshot.layout]),
        config=_config(snapshot, seen),
        release=release,
        dfl=seen[True],
        legacy=seen[False],
    )


def _version(release: str) -> Version:
    found = _VERSION.match(release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _within(version: Version) -> Version:
    """A version that can be played: not older than the oldest known one, nor newer than the newest."""
    return min(max(version, min(PERSONALITIES)), max(PERSONALITIES))


def _most_like(snapshot: Snapshot, seen: dict[bool, SeenFiles | None]) -> Version:
    """The known version whose files are most like those that were seen; of two, the newer one."""
    candidates = [one for one in PERSONALITIES.values() if snapshot.layout in one.layouts]
    return min(reversed(candidates), key=lambda one: _apart(one, seen)).version


def _apart(personality: Personality, seen: dict[bool, SeenFiles | None]) -> int:
    """How many files one of the two has alone."""
    apart = 0
    for dfl, side in seen.items():
        if side is None:
            continue
        names = (side.root or frozenset()) | (side.child or frozenset())
        for controller in CONTROLLERS:
            rows = controller.dfl_rows if dfl else controller.legacy_rows
            if _called(controller, dfl) in side.controllers:
                there = {
                    row.name
                    for row in rows
                    if (row.since is None or row.since <= personality.version)
                    and (row.until is None or row.until > personality.version)
                }
                apart += len(there ^ ({row.name for row in rows} & names))
    return apart


def _called(controller: Controller, dfl: bool) -> str:
    """The kernel's name of a controller on one side."""
    return controller.name if dfl else controller.legacy_name or controller.name


def _seen(snapshot: Snapshot, dfl: bool) -> SeenFiles | None:
    """What the unified hierarchy (`dfl`) or all v1 hierarchies have."""
    side = [one for one in snapshot.hierarchies if one.unified == dfl]
    if not side:
        return None
    roots = frozenset().union(*(one.cgroups[0].files for one in side if one.cgroups))
    children = [cgroup.files for one in side for cgroup in one.cgroups[1:]]
    controllers = {name for one in side for name in one.controllers}
    if dfl and "CGROUP_PERF" in snapshot.kernel.config and not _on_v1(snapshot, "perf_event"):
        controllers.add("perf_event")  # which is always on there, and never listed
    return SeenFiles(frozenset(controllers), roots or None, frozenset().union(*children) if children else None)


def _on_v1(snapshot: Snapshot, controller: str) -> bool:
    return any(controller in one.controllers for one in snapshot.hierarchies if not one.unified)


def _config(snapshot: Snapshot, seen: dict[bool, SeenFiles | None]) -> frozenset[str]:
    """The options that are y: those of the snapshot, and those that what was seen needs."""
    found = set(snapshot.kernel.config)
    if not found & {_FEW_CPUS, _MANY_CPUS}:
        found.add(_MANY_CPUS)
    for dfl, side in seen.items():
        if side is None:
            continue
        names = (side.root or frozenset()) | (side.child or frozenset())
        for controller in CONTROLLERS:
            if _called(controller, dfl) not in side.controllers:
                continue
            needed = [controller.config, None if dfl else controller.legacy_config]
            rows = controller.dfl_rows if dfl else controller.legacy_rows
            needed += [row.config for row in rows if row.name in names and row.config not in (_FEW_CPUS, _MANY_CPUS)]
            found.update(option for option in needed if option is not None)
    return frozenset(found)


# -- the machine ------------------------------------------------------------------------------------


def _machine(snapshot: Snapshot, differs: list[str]) -> Machine:
    seen = snapshot.machine
    cpus = seen.cpus or _highest(snapshot, _CPUS) or 1
    if seen.online:
        cpus = max(cpus, _bits(seen.online).bit_length())
        differs.append(f"of the machine's CPUs only {seen.online} are online: the model has all of 0-{cpus - 1}")
    memory = seen.memory
    if not memory:
        memory = _UNKNOWN_MEMORY
        differs.append(f"the machine's memory is not known: {memory >> 30}Gi are taken")
    sizes = {**dict.fromkeys(_huge_pages(snapshot), 0), **seen.huge_pages}
    try:
        return Machine(
            cpus=options.read("cpus", cpus),
            numa_nodes=options.read("numa_nodes", seen.nodes or _highest(snapshot, _MEMS) or 1),
            memory=options.read("memory", memory),
            block_devices=options.read("block_devices", _block_devices(snapshot)),
            huge_pages=HugePages({size: count for size, count in sizes.items() if size in KNOWN_HUGE_PAGES}),
            swap=options.read("swap", seen.swap),
            interfaces=_interfaces(snapshot),
        )
    except ValueError as error:
        raise SnapshotError(f"{snapshot.called} is no snapshot: snapshot.machine: {error}") from None


def _texts(snapshot: Snapshot, *names: str) -> Iterable[str]:
    """The texts of files with these names."""
    for _, cgroup in snapshot.cgroups():
        for name in names:
            file = cgroup.files.get(name)
            if file is not None and file.data:
                yield file.data.decode("latin-1")


def _highest(snapshot: Snapshot, names: Iterable[str]) -> int:
    """One more than the highest number in lists."""
    return max((_bits(text).bit_length() for text in _texts(snapshot, *names)), default=0)


def _bits(text: str) -> int:
    try:
        return parse_bitlist(text.strip(), NR_CPUS, words=False)
    except OSError:
        return 0


def _huge_pages(snapshot: Snapshot) -> set[int]:
    """The sizes in bytes that file names tell of."""
    names = {name for _, cgroup in snapshot.cgroups() for name in cgroup.files if name.startswith("hugetlb.")}
    return {int(found[1]) * _UNITS[found[2]] for found in map(_HUGETLB.match, names) if found}


def _block_devices(snapshot: Snapshot) -> tuple[str, ...]:
    """The disks, oldest first: files list them the other way round."""
    listed: dict[str, None] = {}
    for text in _texts(snapshot, "io.stat", "blkio.throttle.io_serviced"):
        listed.update((found[1], None) for found in map(_DEVICE.match, text.splitlines()) if found)
    others = [name for name in snapshot.machine.block_devices if name not in listed]
    return (*others, *reversed(listed))


def _interfaces(snapshot: Snapshot) -> tuple[str, ...]:
    for text in _texts(snapshot, "net_prio.ifpriomap"):
        return tuple(line.rpartition(" ")[0] for line in text.splitlines())
    return snapshot.machine.interfaces


# -- the mounts -------------------------------------------------------------------------------------


def _mount(seen: SeenHierarchy, differs: list[str]) -> V1Mount | None:
    """A hierarchy of v1 by the names of controllers that the model has; None if it knows none of them."""
    known = {_called(one, dfl=False): one.name for one in CONTROLLERS}
    unknown = [name for name in seen.controllers if name not in known]
    controllers = tuple(known[name] for name in seen.controllers if name in known)
    if unknown:
        differs.append(f"v1 controllers that the model does not have: {', '.join(map(shown, unknown))}")
    if not controllers and seen.controllers:
        return None
    return V1Mount(seen.directory, controllers, seen.name or ("" if controllers else seen.directory), seen.links)


def _options(snapshot: Snapshot, personality: Personality, differs: list[str]) -> tuple[str, ...]:
    """The mount options of the unified hierarchy."""
    given = [option for one in snapshot.hierarchies if one.unified for option in one.options]
    known = of_kernel(personality)
    unknown = [option for option in given if option not in known]
    if unknown:
        differs.append(f"mount options that kernel {personality.name} does not have: {', '.join(map(shown, unknown))}")
    return tuple(option for option in known if option in given)
