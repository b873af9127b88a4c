"""Directories of sysfs that tell of CPUs, NUMA nodes and huge pages.

Each is made from that of the machine below, whose processor this is. A machine without NUMA nodes gets the files that
programs read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..machine.machine import Machine
from ..machine.personality import Personality
from .cpu_lists import cpu_list, cpu_mask, cpus_of_node, memory_of_node, node_of_cpu
from .memory_fields import node_meminfo_fields

_KIB = 1024
_HUGE_PAGE = 2 << 20  # the size that meminfo counts
_NEAR, _FAR = 10, 20  # distances between NUMA nodes (LOCAL_DISTANCE, REMOTE_DISTANCE)
_OF_FIRST_CPU, _OF_FIRST_NODE = "cpu0/", "node0/"
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


def cpu_directory(real: Directory, machine: Machine, personality: Personality) -> dict[str, File | Link]:
    """/sys/devices/system/cpu (drivers/base/cpu.c, topology.c, cacheinfo.c)."""
    every = cpu_list(range(machine.cpus))
    made = {path: entry for path, entry in real.items() if not re.match(r"cpu\d+/", path)}
    kernel_max = max(255 if personality.has("NR_CPUS_256") else 8191, machine.cpus - 1)
    lists = {"online": every, "present": every, "possible": every, "offline": "", "isolated": "", "nohz_full": ""}
    for name, text in {**lists, "kernel_max": str(kernel_max), "smt/active": "0"}.items():
        if name in made or name in ("online", "present", "possible"):
            made[name] = File(text + "\n")
    of_first = {path.removeprefix(_OF_FIRST_CPU): entry for path, entry in real.items() if path.startswith("cpu0/")}
    same = {path: entry for path, entry in of_first.items() if not _LINKS.match(path)}
    for cpu in range(machine.cpus):
        node = node_of_cpu(machine, cpu)
        for path, entry in same.items():
            made[f"cpu{cpu}/{path}"] = entry
        if cpu:  # the first CPU cannot be taken offline
            made[f"cpu{cpu}/online"] = File("1\n", 0o644)
        for path, text in _topology(machine, cpu, node):
            if path in same or path in ("topology/core_id", "topology/physical_package_id"):
                made[f"cpu{cpu}/{path}"] = File(text + "\n")
        for path in same:
            if re.fullmatch(r"cache/index\d+/shared_cpu_(map|list)", path):
                made[f"cpu{cpu}/{path}"] = _shared(same, path, machine, cpu, node)
        made[f"cpu{cpu}/node{node}"] = Link(f"../../node/node{node}")
        made[f"cpu{cpu}/subsystem"] = Link("../../../../bus/cpu")
    return made


def _topology(machine: Machine, cpu: int, node: int) -> Iterator[tuple[str, str]]:
    """The files below cpuN/topology: each NUMA node is a package, whose cores have one thread."""
    cpus = cpus_of_node(machine, node)
    for name, number in (("core_id", cpu - cpus.start), ("physical_package_id", node), ("die_id", 0)):
        yield f"topology/{name}", str(number)
    yield "topology/cluster_id", str(cpu)
    for names, sharing in (
        (("core_cpus", "thread_siblings", "cluster_cpus"), range(cpu, cpu + 1)),
        (("core_siblings", "die_cpus", "package_cpus"), cpus),
    ):
        for name in names:
            yield f"topology/{name}", _mask(machine, sharing)
            yield f"topology/{name}_list", cpu_list(sharing)


def _shared(same: Directory, path: str, machine: Machine, cpu: int, node: int) -> File:
    """The CPUs that share a cache: those of a package if the first CPU's is shared, else it alone."""
    theirs = same[path.rpartition("/")[0] + "/shared_cpu_list"]
    is_shared = isinstance(theirs, File) and not theirs.text.strip().isdigit()
    cpus = cpus_of_node(machine, node) if is_shared else range(cpu, cpu + 1)
    return File((cpu_list(cpus) if path.endswith("list") else _mask(machine, cpus)) + "\n")


def _mask(machine: Machine, cpus: range) -> str:
    return cpu_mask(sum(1 << cpu for cpu in cpus), machine.cpus)


def node_directory(real: Directory, machine: Machine, personality: Personality) -> dict[str, File | Link]:
    """/sys/devices/system/node (drivers/base/node.c)."""
    nodes = range(machine.numa_nodes)
    made = {path: entry for path, entry in real.items() if not re.match(r"node\d+/", path)}
    with_cpus = [node for node in nodes if cpus_of_node(machine, node)]
    for name in ("online", "possible", "has_memory", "has_normal_memory"):
        made[name] = File(cpu_list(nodes) + "\n")
    made["has_cpu"] = File(cpu_list(with_cpus) + "\n")
    of_first = {path.removeprefix(_OF_FIRST_NODE): entry for path, entry in real.items() if path.startswith("node0/")}
    same = {path: entry for path, entry in of_first.items() if not _LINKS.match(path)}
    same = {path: entry for path, entry in same.items() if not path.startswith("hugepages/")}
    for node in nodes:
        cpus = cpus_of_node(machine, node)
        for path, entry in same.items():
            made[f"node{node}/{path}"] = _without_counts(path, entry)
        made[f"node{node}/cpulist"] = File(cpu_list(cpus) + "\n")
        made[f"node{node}/cpumap"] = File(_mask(machine, cpus) + "\n")
        made[f"node{node}/distance"] = File(" ".join(str(_NEAR if node == to else _FAR) for to in nodes) + "\n")
        made[f"node{node}/meminfo"] = File(_meminfo(node_meminfo_fields(personality), machine, node))
        for size in machine.huge_pages:
            share = _share(machine.huge_page_count(size), machine, node)
            for name, number in (("nr", share), ("free", share), ("surplus", 0)):
                mode = 0o644 if name == "nr" else 0o444
                made[f"node{node}/hugepages/{_label(size)}/{name}_hugepages"] = File(f"{number}\n", mode)
        for cpu in cpus:
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
