"""Which mount options a kernel takes for a cgroup file system, and which hierarchy they name.

Sources: kernel/cgroup/cgroup-v1.c (cgroup1_parse_param, check_cgroupfs_options, cgroup1_root_to_use),
kernel/cgroup/cgroup.c (cgroup2_parse_param), fs/fs_context.c.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from errno import EBUSY, EINVAL, EPERM

from ..core.hierarchy import Hierarchy
from ..machine.mount_options import of_kernel
from ..machine.personality import Personality
from ..refuse import refuse
from .subsystems import bound, known

FILE_SYSTEMS = {b"cgroup": (), b"cgroup2": (), b"cpuset": ("cpuset", "noprefix")}
"""The cgroup file systems, and the options that each implies (cpuset_init_fs_context)."""

OF_ANY = frozenset(("ro", "rw", "sync", "async", "dirsync", "lazytime", "nolazytime", "mand", "nomand"))
"""The options that every file system takes (fs/fs_context.c)."""

_V1_FLAGS = frozenset(
    ("none", "noprefix", "clone_children", "cpuset_v2_mode", "xattr", "favordynmods", "nofavordynmods")
)
_V1_NAME = re.compile(r"[\w.-]{1,63}", re.ASCII)


class MountOptions:
    """The options of one kernel with these hierarchies."""

    def __init__(self, hierarchies: Sequence[Hierarchy], personality: Personality) -> None:
        self.subsystems: Collection[str] = known(personality) | bound(hierarchies).keys()
        """The options that name a subsystem of a v1 hierarchy."""
        self.unified = frozenset(of_kernel(personality))
        """The options of the unified hierarchy."""

    def parse(self, unified: bool, name: str, value: str | None, given: Sequence[str]) -> str | None:
        """An option in the words of mount(2), None for one that changes nothing (fsconfig(2)).

        `given` has the options before it. Raises EINVAL for an unknown option, for one that may be given once and is
        given again, for a wrong value, and for a value where the option takes none or needs one.
        """
        if name in OF_ANY:  # with any value
            return None
        before = {option.partition("=")[0] for option in given}
        if name == "source":
            if value is None or name in before:
                raise refuse(EINVAL)
        elif unified:
            if name not in self.unified or value is not None:
                raise refuse(EINVAL)
        elif name in ("name", "release_agent"):
            if value is None or name in before or (name == "name" and not _V1_NAME.fullmatch(value)):
                raise refuse(EINVAL)
        elif name in _V1_FLAGS or name == "all":
            if value is not None:
                raise refuse(EINVAL)
        elif name not in self.subsystems:
            raise refuse(EINVAL)
        return name if value is None or name in self.subsystems else f"{name}={value}"

    def parse_data(self, unified: bool, data: str, implied: Sequence[str]) -> list[str]:
        """The options in the data of mount(2), after those that the file system type implies.

        Raises EINVAL as `parse` does, and for `source`, which is an argument of mount(2).
        """
        options = ["source", *implied]
        for word in filter(None, data.split(",")):
            name, equals, value = word.partition("=")
            option = self.parse(unified, name, value if equals else None, options)
            if option is not None:
                options.append(option)
        return options[1:]


def hierarchy_to_mount(
    hierarchies: Sequence[Hierarchy],
    known: MountOptions,
    options: Sequence[str],
    *,
    unified: bool,
    owned: bool,
    inside: bool,
) -> Hierarchy:
    """The hierarchy that a user namespace's root mounts with these options (mount_capable, cgroup1_get_tree).

    `owned` says whether that user namespace owns the caller's cgroup namespace, `inside` whether the cgroup namespace
    is not the initial one. Raises EPERM where it is not owned and for a hierarchy that is not there, as only the root
    of the machine makes one. Raises what `hierarchy_named` does.
    """
    if not owned:
        raise refuse(EPERM)
    if unified:
        found = next((hierarchy for hierarchy in hierarchies if hierarchy.dfl), None)
    else:
        found = hierarchy_named(hierarchies, options, known.subsystems, inside=inside)
    if found is None:
        raise refuse(EPERM)
    return found


def hierarchy_named(
    hierarchies: Sequence[Hierarchy], options: Sequence[str], subsystems: Collection[str], *, inside: bool
) -> Hierarchy | None:
    """The v1 hierarchy that the options name; None for one that is not there.

    `subsystems` are all that a kernel has. Raises EINVAL for an unknown subsystem and for options that name no
    hierarchy. Raises EBUSY for a subsystem that another hierarchy has; `inside` a cgroup namespace that is not checked.
    """
    v1 = [hierarchy for hierarchy in hierarchies if not hierarchy.dfl]
    hierarchy_of = bound(hierarchies)
    given = [option.partition("=") for option in options]
    names = [value for key, _, value in given if key == "name"]
    plain = {key for key, _, _ in given if key not in ("name", "release_agent")}
    none = "none" in plain
    wanted = plain - _V1_FLAGS - {"all"}
    if len(names) > 1 or not all(_V1_NAME.fullmatch(name) for name in names) or not wanted <= set(subsystems):
        raise refuse(EINVAL)
    if "all" in plain or not (wanted or none or names):
        if wanted:
            raise refuse(EINVAL)
        wanted = set(subsystems)
    if (none and (wanted or not names)) or ("noprefix" in plain and wanted - {"cpuset"}):
        raise refuse(EINVAL)
    for hierarchy in v1:
        mine = {name for name, its in hierarchy_of.items() if its is hierarchy}
        if names and names != [hierarchy.name]:
            continue
        if (wanted or none) and wanted != mine:
            if names:
                raise refuse(EBUSY)
            continue
        return hierarchy
    if not (wanted or none):
        raise refuse(EINVAL)
    if wanted & hierarchy_of.keys() and not inside:
        raise refuse(EBUSY)
    return None
