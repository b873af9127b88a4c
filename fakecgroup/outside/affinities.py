"""sched_setaffinity(2), sched_getaffinity(2): which CPUs a task may use, and on which of another machine it then runs.

Masks have a bit for each CPU (kernel/sched/syscalls.c, kernel/cgroup/cpuset.c). Kernels from 6.2 on remember what a
task has asked for when its cpuset changes; earlier ones forget it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from errno import EINVAL, EPERM

from ..controllers.cpuset.css import Cpuset
from ..controllers.cpuset.tasks import allowed
from ..credentials.caller import Caller
from ..credentials.capability import Capability, Privileges
from ..machine.online_cpus import OnlineCpus
from ..machine.personality import Personality
from ..refuse import refuse
from ..tasks.affinity import Affinity
from ..tasks.processes import TaskInfo
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


def require_right(task: TaskInfo, theirs: Privileges, caller: Caller) -> None:
    """Raises EPERM without CAP_SYS_NICE over a task, if it is another user's or may do more (check_same_owner,
    cap_safe_nice).
    """
    own = caller.privileges()
    same = caller.uid in (task.uid, task.suid) and not theirs.permitted & ~own.permitted
    if not same and not own.over_task(Capability.SYS_NICE, theirs):
        raise refuse(EPERM)


def asked(now: Affinity, mask: int, cpuset: Cpuset | None, cpus: OnlineCpus, kernel: Personality) -> Affinity:
    """The affinity of a task of a cpuset after sched_setaffinity(2) with `mask`.

    Raises EINVAL if its cpuset has none of them, or none that is online.
    """
    within = cpus.possible if cpuset is None else allowed(cpuset)
    return now.asking(mask, within, cpus.online, remembers=kernel.at_least(6, 2))


def rescued(now: Affinity, cpuset: Cpuset | None, cpus: OnlineCpus) -> Affinity:
    """The affinity of a task that runs again after its last CPU has gone offline (select_fallback_rq).

    It may use the written CPUs of a v2 cpuset, or else all. What it had asked for is forgotten.
    """
    if cpuset is not None and cpuset.on_dfl and cpuset.cpus & cpus.online:
        return Affinity(cpuset.cpus)
    return Affinity(cpus.possible)


def stand_ins(cpus: int, real: Sequence[int], *, same_machine: bool) -> list[int]:
    """The CPU of the machine below that each CPU of a machine with so many runs on.

    CPU n is the n-th of `real`, counted around. If the two are the `same_machine` a CPU stands for itself if it can.
    """
    return [cpu if same_machine and cpu in real else real[cpu % len(real)] for cpu in range(cpus)]


def mapped(mask: int, below: Sequence[int]) -> frozenset[int]:
    """The CPUs of the machine below for those of a mask; `below` is of `stand_ins`."""
    return frozenset(below[cpu] for cpu in numbers_of(mask))


def mapped_back(found: Collection[int], below: Sequence[int]) -> int:
    """The CPUs that run on the CPUs `found` of the machine below."""
    return sum(1 << cpu for cpu, real in enumerate(below) if real in found)
