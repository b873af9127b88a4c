"""Where the hierarchies of v1 are mounted."""

from __future__ import annotations

from ..named_tuple import NamedTuple


class V1Mount(NamedTuple):
    """A hierarchy of v1: its directory, the names of its controllers, and its own name if it has one.

    Controllers have their names on the unified hierarchy. `links` lead to the directory.
    """

    directory: str
    controllers: tuple[str, ...] = ()
    name: str = ""
    links: tuple[str, ...] = ()


def _together(*controllers: str) -> V1Mount:
    return V1Mount(",".join(controllers), controllers, links=controllers)


SYSTEMD_MOUNTS = (
    V1Mount("systemd", name="systemd"),
    _together("cpu", "cpuacct"),
    V1Mount("memory", ("memory",)),
    V1Mount("pids", ("pids",)),
    V1Mount("cpuset", ("cpuset",)),
    V1Mount("devices", ("devices",)),
    V1Mount("freezer", ("freezer",)),
    V1Mount("blkio", ("io",)),
    V1Mount("hugetlb", ("hugetlb",)),
    _together("net_cls", "net_prio"),
    V1Mount("perf_event", ("perf_event",)),
    V1Mount("rdma", ("rdma",)),
    V1Mount("misc", ("misc",)),
)
"""Those that systemd mounts; those of controllers that a kernel does not have are left out."""

UNIFIED = "unified"
"""The directory of the unified hierarchy beside those of v1."""
