"""The kernels that the model plays: a version and its configuration, Debian's for all but 6.18.

A rule that differs between kernels asks its personality `at_least(6, 12)` or `has("MEMCG_V1")`. A file that only some
kernels have says so in its row (`CFType.since`, `until`, `config`). A learnt kernel (`learnt`) plays the rules of one
of these, or of a version between two, with the files and controllers that were seen. Of the versions between 6.12 and
7.2, some of Debian's backports have been asked, so a rule may begin with 6.16, 6.18 or 7.0.
"""

from __future__ import annotations

from ..named_tuple import NamedTuple

Version = tuple[int, int]


class SeenFiles(NamedTuple):
    """What a learnt kernel was seen to have in the unified hierarchy, or in all v1 hierarchies together.

    `controllers` by their names on that side. `root` and `child` are the names of the interface files in a root and in
    all other cgroups; None: nobody could look.
    """

    controllers: frozenset[str]
    root: frozenset[str] | None
    child: frozenset[str] | None


class Personality(NamedTuple):
    """One kernel: its `version` as (major, minor), the `layouts` it can play, its `config` options that are y.

    A learnt kernel has a `release` as in uname(2), and what was seen of its files: `dfl` of the unified hierarchy,
    `legacy` of v1. None stands for what follows from version and configuration. Its `version` is that of the kernel
    whose rules it plays.
    """

    version: Version
    layouts: frozenset[str]
    config: frozenset[str]
    release: str = ""
    dfl: SeenFiles | None = None
    legacy: SeenFiles | None = None

    @property
    def name(self) -> str:
        return self.release or "{}.{}".format(*self.version)

    def seen(self, dfl: bool) -> SeenFiles | None:
        """What was seen of the unified hierarchy (`dfl`), or of v1."""
        return self.dfl if dfl else self.legacy

    def offers(self, controller: str, dfl: bool) -> bool:
        """False if the kernel was seen to have no such controller on that side."""
        seen = self.seen(dfl)
        return seen is None or controller in seen.controllers

    def at_least(self, major: int, minor: int) -> bool:
        return self.version >= (major, minor)

    @property
    def lax_security_xattrs(self) -> bool:
        """True if write permission is enough to set security.* attributes.

        Seen on 6.1 alone: the consent of another security module hid the capability check (security/security.c,
        security_inode_setxattr).
        """
        return self.version == (6, 1)

    @property
    def saturates(self) -> bool:
        """True if numbers over 64 bits become the greatest one, where others wrap (lib/vsprintf.c, lib/cmdline.c)."""
        return self.at_least(7, 2)

    def has(self, option: str | None) -> bool:
        """True if the option is y; also true for None, no option."""
        return option is None or option in self.config


# Options that decide which files exist. All kernels have CGROUPS, MEMCG, CGROUP_PIDS, CFS_BANDWIDTH and PSI.
_DEBIAN_ALL = {"CGROUP_HUGETLB", "CGROUP_NET_CLASSID", "CGROUP_NET_PRIO", "CGROUP_PERF", "CGROUP_RDMA", "NR_CPUS_8192"}
_CONFIG = {
    (5, 10): _DEBIAN_ALL | {"MEMCG_V1", "CPUSETS_V1"},
    (6, 1): _DEBIAN_ALL | {"MEMCG_V1", "CPUSETS_V1", "CGROUP_MISC"},
    (6, 12): _DEBIAN_ALL | {"CGROUP_MISC"},
    # Not Debian's: a machine with v1's memory and cpuset and real-time groups. It has hugetlb, net_cls, net_prio and
    # perf_event, but did not mount them: they were not recorded, so they are not offered.
    (6, 18): {"MEMCG_V1", "CPUSETS_V1", "RT_GROUP_SCHED", "BFQ_GROUP_IOSCHED", "NR_CPUS_256"},
    (7, 2): _DEBIAN_ALL | {"CGROUP_MISC", "UCLAMP_TASK_GROUP", "ZSWAP"},
}
_LAYOUTS = {
    (5, 10): {"v2", "v1", "hybrid"},
    (6, 1): {"v2", "v1", "hybrid"},
    (6, 12): {"v2", "v1", "hybrid"},
    (6, 18): {"v1"},
    (7, 2): {"v2", "v1", "hybrid"},
}
_DEFAULT = {"v2": (6, 12), "v1": (6, 1), "hybrid": (6, 1)}

PERSONALITIES = {
    version: Personality(version, frozenset(_LAYOUTS[version]), frozenset(config))
    for version, config in _CONFIG.items()
}


def personalities() -> list[tuple[str, str]]:
    """Every (layout, version) pair that can be played. The default version of each layout comes first."""
    pairs = [(layout, p) for p in PERSONALITIES.values() for layout in p.layouts]
    pairs.sort(key=lambda pair: (list(_DEFAULT).index(pair[0]), pair[1].version != _DEFAULT[pair[0]], pair[1].version))
    return [(layout, p.name) for layout, p in pairs]


def choose(layout: str, version: str | None) -> Personality:
    """The personality for a layout and a version ("6.12"; None: the layout's default).

    Raises ValueError for any other pair. The message lists the known ones.
    """
    known = ", ".join(f"{name} for {where}" for where, name in personalities())
    if layout not in _DEFAULT:
        raise ValueError(f"no layout {layout!r}: there is {known}")
    wanted = "{}.{}".format(*_DEFAULT[layout]) if version is None else version
    for personality in PERSONALITIES.values():
        if layout in personality.layouts and personality.name == wanted:
            return personality
    raise ValueError(f"no kernel {version!r} for layout {layout}: there is {known}")
