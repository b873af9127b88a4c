"""Which parts of the stated machine the command sees: those that differ from the machine below."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from fakecgroup.machine.machine import Machine
from fakecgroup.machine.online_cpus import OnlineCpus
from fakecgroup.machine.personality import Personality
from fakecgroup.named_tuple import NamedTuple

if TYPE_CHECKING:
    from fakecgroup.outside.sysfs import Directory, File, Link

T = TypeVar("T")
_SYSTEM = "/sys/devices/system"
_HUGE_PAGES = "/sys/kernel/mm/hugepages"


class ShownMachine(NamedTuple):
    """`cpus`: the command sees the stated CPUs and NUMA nodes, which it may take offline. `memory`: it sees the stated
    memory, swap, huge pages.

    Without either, nothing is trapped or mounted for it, and the command sees the machine below.
    """

    cpus: bool = False
    memory: bool = False

    @property
    def parts(self) -> frozenset[str]:
        """The parts by the names that `calls.table` has for them."""
        return frozenset(name for name in self._fields if getattr(self, name))


def shown_machine(options: argparse.Namespace, machine: Machine) -> ShownMachine:
    """What the given options ask for: CPUs where they are named, memory where it is not what this machine has.

    Raises ValueError if the machine has less memory than huge pages.
    """
    if machine.huge_page_memory > machine.memory:
        raise ValueError(
            f"the huge pages of --hugepages take {machine.huge_page_memory} bytes, and --memory is {machine.memory}: "
            "state more memory or fewer pages"
        )
    given: set[str] = getattr(options, "given", set())
    cpus = "cpus" in given or "cpuset" in getattr(options, "enforce", ())
    nodes = "numa_nodes" in given and machine.numa_nodes != _count_nodes()
    memory = "memory" in given and machine.memory != os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    swap = "swap" in given and machine.swap != _swap()
    huge_pages = (
        "hugepages" in given and {size: machine.huge_page_count(size) for size in machine.huge_pages} != _huge_pages()
    )
    return ShownMachine(cpus or nodes, memory or nodes or swap or huge_pages)


def _swap() -> int:
    """The bytes of this machine's swap."""
    lines = _text("/proc/meminfo").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("SwapTotal:"))


def _huge_pages() -> dict[int, int]:
    """How many huge pages this machine has, by their sizes in bytes."""
    sizes = {int(name[len("hugepages-") : -len("kB")]) * 1024: name for name in _names(_HUGE_PAGES)}
    return {size: int(_text(f"{_HUGE_PAGES}/{name}/nr_hugepages") or 0) for size, name in sizes.items()}


def _count_nodes() -> int:
    """The NUMA nodes of this machine, 1 for a kernel without them."""
    return len([name for name in _names(f"{_SYSTEM}/node") if name.startswith("node") and name[4:].isdigit()]) or 1


class Directories(NamedTuple):
    """The directories of sysfs that tell of the stated machine, by their paths.

    Those in `live` change when CPUs come and go; they are made for the CPUs that are online.
    """

    fixed: Mapping[str, Directory] = {}
    live: Mapping[str, Callable[[OnlineCpus], Directory]] = {}


class SeenMachine(NamedTuple):
    """What the server needs for the machine that the command sees: its parts, and `Directories.live`."""

    parts: frozenset[str] = frozenset()
    directories: Mapping[str, Callable[[OnlineCpus], Directory]] = {}


THIS_MACHINE = SeenMachine()


def directories(shown: ShownMachine, machine: Machine, personality: Personality) -> Directories:
    """What the command sees in place of what is there."""
    if not any(shown):
        return Directories()
    from fakecgroup.outside.sysfs import (  # takes a while to load
        bus_directory,
        cpu_directory,
        huge_page_directory,
        node_directory,
    )

    fixed: dict[str, Directory] = {}
    live: dict[str, Callable[[OnlineCpus], Directory]] = {}
    if shown.cpus:
        cpus, nodes = _read(f"{_SYSTEM}/cpu", "cpu"), _read(f"{_SYSTEM}/node", "node")
        live[f"{_SYSTEM}/cpu"] = lambda online: cpu_directory(cpus, machine, personality, online)
        live[f"{_SYSTEM}/node"] = lambda online: node_directory(nodes, machine, personality, online)
        fixed["/sys/bus/cpu/devices"] = bus_directory("cpu", machine.cpus)
    elif shown.memory:
        every = OnlineCpus(machine.cpus)
        fixed[f"{_SYSTEM}/node"] = node_directory(_read(f"{_SYSTEM}/node", "node"), machine, personality, every)
    if shown.cpus or shown.memory:
        fixed["/sys/bus/node/devices"] = bus_directory("node", machine.numa_nodes)
    if shown.memory:
        fixed[_HUGE_PAGES] = huge_page_directory(machine)
    return Directories(_there(fixed), _there(live))


def _there(found: Mapping[str, T]) -> dict[str, T]:
    """What covers a directory of this machine."""
    return {path: made for path, made in found.items() if os.path.isdir(path)}


def _read(top: str, kind: str) -> Directory:
    """A directory of sysfs, of its devices of this `kind` the first alone."""
    from fakecgroup.outside.sysfs import File, Link

    found: dict[str, File | Link] = {}
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for name in _names(f"{top}/{prefix}"):
            path = f"{prefix}{name}"
            others = not prefix and name.startswith(kind) and name[len(kind) :].isdigit() and name != f"{kind}0"
            if others:
                continue
            place = f"{top}/{path}"
            if os.path.islink(place):
                found[path] = Link(os.readlink(place))
            elif os.path.isdir(place):
                waiting.append(f"{path}/")
            else:
                found[path] = File(_text(place), os.stat(place).st_mode & 0o777)
    return found


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _text(path: str) -> str:
    """The text of a file; empty where it may not be read."""
    try:
        if not os.stat(path).st_mode & 0o444:
            return ""
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""
