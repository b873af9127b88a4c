"""CPUs and NUMA nodes as the kernel's bitmaps, in its three notations (lib/vsprintf.c, bitmap_string)."""

from __future__ import annotations

from itertools import groupby

from ..machine.machine import Machine

_GROUP = 32  # bits between two commas


def cpu_list(numbers: range | list[int]) -> str:
    """Numbers in rising order as "0-3,8", empty for none (%*pbl)."""
    runs = groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ends = ([number for _, number in run] for _, run in runs)
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in ends)


def cpu_mask(mask: int, bits: int) -> str:
    """A mask as hex digits in groups of 32 bits, with as many digits as `bits` need (%*pb)."""
    groups = []
    for start in range(0, bits, _GROUP):
        width = min(_GROUP, bits - start)
        groups.append(f"{mask >> start & (1 << width) - 1:0{(width + 3) // 4}x}")
    return ",".join(reversed(groups))


def numbers_of(mask: int) -> list[int]:
    """The numbers whose bits are set."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def cpus_of_node(machine: Machine, node: int) -> range:
    """The CPUs of a NUMA node: as many on each as can be, one after the other."""
    return range(node * machine.cpus // machine.numa_nodes, (node + 1) * machine.cpus // machine.numa_nodes)


def node_of_cpu(machine: Machine, cpu: int) -> int:
    """The NUMA node of a CPU."""
    return next(node for node in range(machine.numa_nodes) if cpu in cpus_of_node(machine, node))


def memory_of_node(machine: Machine, node: int) -> int:
    """The bytes of a NUMA node, whole pages: the same on each, and what is left on the last."""
    share = machine.memory // machine.numa_nodes // 4096 * 4096
    return share if node < machine.numa_nodes - 1 else machine.memory - share * node
