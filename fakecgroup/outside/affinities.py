"""sched_setaffinity(2), sched_getaffinity(2): which CPUs a task may use, and on which of another machine it then runs.

A task is told the CPUs that it asked for, as long as its cpuset has one of them (kernel/sched/syscalls.c,
__sched_setaffinity; kernel/cgroup/cpuset.c, since 6.2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from errno import EINVAL

from ..refuse import refuse
from .cpu_lists import numbers_of

_WORD = 8  # bytes of a long


def mask_size(cpus: int) -> int:
    """The bytes of a mask of so many CPUs, whole longs (cpumask_size)."""
    return (cpus + 8 * _WORD - 1) // (8 * _WORD) * _WORD


def read_size(cpus: int, given: int) -> int:
    """The bytes that sched_getaffinity(2) writes into `given` bytes, which is also its result. Raises EINVAL."""
    if given * 8 < cpus or given % _WORD:
        raise refuse(EINVAL)
    return min(given, mask_size(cpus))


def wanted(mask: int, allowed: int, online: int) -> int:
    """What sched_setaffinity(2) keeps of a mask, for a task whose cpuset has the CPUs `allowed`. Raises EINVAL."""
    if not mask & allowed & online:
        raise refuse(EINVAL)
    return mask & online


def shown(told: int | None, allowed: int) -> int:
    """The CPUs that a task may use, which has asked for `told`; None: it has asked for none."""
    return (told or 0) & allowed or allowed


def mapped(mask: int, real: Sequence[int]) -> set[int]:
    """The CPUs of the machine below, which has `real`, for those of a mask. CPU n is the n-th of them, modulo all."""
    return {real[cpu % len(real)] for cpu in numbers_of(mask)}


def mapped_back(found: Collection[int], real: Sequence[int], cpus: int) -> int:
    """The CPUs of a machine with so many that lead to the CPUs `found` of the machine below."""
    return sum(1 << cpu for cpu in range(cpus) if real[cpu % len(real)] in found)
