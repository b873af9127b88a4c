"""Directories of sysfs that tell of CPUs, NUMA nodes and huge pages.

Each is made from that of the machine below, whose processor this is. A machine without NUMA nodes gets the files that
programs read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..machine.machine import Machine
from ..machine.online_cpus import OnlineCpus
from ..machine.personality import Personality
from ..named_tuple import NamedTuple
from .cpu_lists import cpu_list, cpu_mask, cpus_of_node, memory_of_node, numbers_of
from .memory_fields import node_meminfo_fields

_KIB = 1024
_HUGE_PAGE = 2 << 20  # the size that meminfo counts
_NEAR, _FAR = 10, 20  # distances between NUMA nodes (LOCAL_DISTANCE, REMOTE_DISTANCE)
_OF_FIRST_CPU, _OF_FIRST_NODE = "cpu0/", "node0/"
_OF_ONLINE = re.compile(r"(topology|cache)/|cpu_capacity$")  # what a CPU has only while it is online
_LINKS = re.compile(r"(node|cpu|memory)\d+|firmware_node|subsystem|driver")


class File(NamedTuple):
    """A file's text and permissions."""

    text: str
    mode: int = 0o444


class Link(NamedTuple):
    """A symbolic link."""

    target: str


Directory = Mapping[str, File | Link]
"""What a directory and those in it hold, by paths such as "cpu0/online"."""


class _Sharing(NamedTuple):
    """Some CPUs as a list and as a mask."""

    list: str
    map: str

    @classmethod
    def of(cls, machine: Machine, cpus: Sequence[int]) -> _Sharing:
        return cls(cpu_list(list(cpus)) + "\n", _mask(machine, cpus) + "\n")


def cpu_directory(
    real: Directory, machine: Machine, personality: Personality, cpus: OnlineCpus
) -> dict[str, File | Link]:
    """/sys/devices/system/cpu (drivers/base/cpu.c, topology.c, cacheinfo.c)."""
    every, online, offline = (cpu_list(numbers_of(mask)) for mask in (cpus.possible, cpus.online, cpus.offline))
    made = {path: entry for path, entry in real.items() if not re.match(r"cpu\d+/", path)}
    kernel_max = max(255 if personality.has("NR_CPUS_256") else 8191, machine.cpus - 1)
    lists = {"online": online, "present": every, "possible": every, "offline": offline}
    lists |= {"isolated": "", "nohz_full": ""}
    for name, text in {**lists, "kernel_max": str(kernel_max), "smt/active": "0"}.items():
        if name in made or name in ("online", "present", "possible"):
            made[name] = File(text + "\n")
    of_first = {path.removeprefix(_OF_FIRST_CPU): entry for path, entry in real.items() if path.startswith("cpu0/")}
    same = {path: entry for path, entry in of_first.items() if not _LINKS.match(path)}
    left_offline = {path: entry for path, entry in same.items() if not _OF_ONLINE.match(path)}
    for node in range(machine.numa_nodes):
        package = cpus_of_node(machine, node)
        together = _Sharing.of(machine, [cpu for cpu in package if cpu in cpus])
        for cpu in package:
            for path, entry in (same if cpu in cpus else left_offline).items():
                made[f"cpu{cpu}/{path}"] = entry
            if cpu:  # the first CPU cannot be taken offline
                made[f"cpu{cpu}/online"] = File(f"{int(cpu in cpus)}\n", 0o644)
            if cpu in cpus:
                ids = {"core_id": cpu - package.start, "physical_package_id": node, "die_id": 0, "cluster_id": cpu}
                for path, text in _of_package(same, ids, _Sharing.of(machine, [cpu]), together):
                    made[f"cpu{cpu}/{path}"] = File(text)
            made[f"cpu{cpu}/node{node}"] = Link(f"../../node/node{node}")
            made[f"cpu{cpu}/subsystem"] = Link("../../../../bus/cpu")
    return made


_ALONE = ("core_cpus", "thread_siblings", "cluster_cpus")
_TOGETHER = ("core_siblings", "die_cpus", "package_cpus")


def _of_package(
    same: Directory, ids: Mapping[str, int], alone: _Sharing, together: _Sharing
) -> Iterator[tuple[str, str]]:
    """The files below cpuN/topology and cpuN/cache that tell CPUs apart, of those that the first one has.

    Each NUMA node is a package, whose cores have one thread. A cache is shared by a package if the first CPU's is
    shared at all.
    """
    for name, number in ids.items():
        if f"topology/{name}" in same or name in ("core_id", "physical_package_id"):
            yield f"topology/{name}", f"{number}\n"
    for names, sharing in ((_ALONE, alone), (_TOGETHER, together)):
        for name in names:
            if f"topology/{name}" in same:
                yield f"topology/{name}", sharing.map
            if f"topology/{name}_list" in same:
                yield f"topology/{name}_list", sharing.list
    for path, theirs in same.items():
        if re.fullmatch(r"cache/index\d+/shared_cpu_list", path) and isinstance(theirs, File):
            sharing = alone if theirs.text.strip().isdigit() else together
            yield path, sharing.list
            if path.removesuffix("list") + "map" in same:
                yield path.removesuffix("list") + "map", sharing.map


def _mask(machine: Machine, cpus: Sequence[int]) -> str:
    return cpu_mask(sum(1 << cpu for cpu in cpus), machine.cpus)


def node_directory(
    real: Directory, machine: Machine, personality: Personality, cpus: OnlineCpus
) -> dict[str, File | Link]:
    """/sys/devices/system/node (drivers/base/node.c). Lists have the CPUs that are online, links are for all."""
    nodes = range(machine.numa_nodes)
    online = {node: [cpu for cpu in cpus_of_node(machine, node) if cpu in cpus] for node in nodes}
    made = {path: entry for path, entry in real.items() if not re.match(r"node\d+/", path)}
    with_cpus = [node for node in nodes if online[node]]
    for name in ("online", "possible", "has_memory", "has_normal_memory"):
        made[name] = File(cpu_list(nodes) + "\n")
    made["has_cpu"] = File(cpu_list(with_cpus) + "\n")
    of_first = {path.removeprefix(_OF_FIRST_NODE): entry for path, entry in real.items() if path.startswith("node0/")}
    same = {path: entry for path, entry in of_first.items() if not _LINKS.match(path)}
    same = {path: entry for path, entry in same.items() if not path.startswith("hugepages/")}
    for node in nodes:
        for path, entry in same.items():
            made[f"node{node}/{path}"] = _without_counts(path, entry)
        made[f"node{node}/cpulist"] = File(cpu_list(online[node]) + "\n")
        made[f"node{node}/cpumap"] = File(_mask(machine, online[node]) + "\n")
        made[f"node{node}/distance"] = File(" ".join(str(_NEAR if node == to else _FAR) for to in nodes) + "\n")
        made[f"node{node}/meminfo"] = File(_meminfo(node_meminfo_fields(personality), machine, node))
        for size in machine.huge_pages:
            share = _share(machine.huge_page_count(size), machine, node)
            for name, number in (("nr", share), ("free", share), ("surplus", 0)):
                mode = 0o644 if name == "nr" else 0o444
                made[f"node{node}/hugepages/{_label(size)}/{name}_hugepages"] = File(f"{number}\n", mode)
        for cpu in cpus_of_node(machine, node):
            made[f"node{node}/cpu{cpu}"] = Link(f"../../cpu/cpu{cpu}")
    return made


def _without_counts(path: str, entry: File | Link) -> File | Link:
    """A file of the machine's own node, whose counts are all 0."""
    if isinstance(entry, File) and path in ("numastat", "vmstat"):
        return File(re.sub(r" \d+$", " 0", entry.text, flags=re.MULTILINE), entry.mode)
    return entry


def _meminfo(fields: list[str], machine: Machine, node: int) -> str:
    """nodeN/meminfo: all memory but huge pages is free (node_read_meminfo)."""
    total = memory_of_node(machine, node) // _KIB
    huge = {size: _share(machine.huge_page_count(size), machine, node) for size in machine.huge_pages}
    free = max(0, total - sum(size // _KIB * count for size, count in huge.items()))
    pages = huge.get(_HUGE_PAGE, 0)
    amounts = {"MemTotal": total, "MemFree": free, "MemUsed": total - free}
    amounts |= {"HugePages_Total": pages, "HugePages_Free": pages}
    lines = []
    for name in fields:
        amount = amounts.get(name, 0)
        text = f"{name}: {amount:5d}" if name.startswith("HugePages_") else f"{name + ':':<16}{amount:8d} kB"
        lines.append(f"Node {node} {text}\n")
    return "".join(lines)


def _share(count: int, machine: Machine, node: int) -> int:
    """The huge pages of a node: the kernel takes them from each in turn (hugetlb_hstate_alloc_pages)."""
    return count // machine.numa_nodes + (node < count % machine.numa_nodes)


def _label(size: int) -> str:
    return f"hugepages-{size // _KIB}kB"


def huge_page_directory(machine: Machine) -> dict[str, File | Link]:
    """/sys/kernel/mm/hugepages (mm/hugetlb_sysfs.c): all are free."""
    made: dict[str, File | Link] = {}
    for size in machine.huge_pages:
        count = machine.huge_page_count(size)
        for name in ("nr_hugepages", "nr_hugepages_mempolicy", "nr_overcommit_hugepages"):
            made[f"{_label(size)}/{name}"] = File(f"{0 if 'overcommit' in name else count}\n", 0o644)
        for name, number in (("free", count), ("resv", 0), ("surplus", 0)):
            made[f"{_label(size)}/{name}_hugepages"] = File(f"{number}\n")
    return made


def bus_directory(kind: str, count: int) -> dict[str, File | Link]:
    """/sys/bus/cpu/devices or /sys/bus/node/devices, by the `kind` of device."""
    return {f"{kind}{number}": Link(f"../../../devices/system/{kind}/{kind}{number}") for number in range(count)}
