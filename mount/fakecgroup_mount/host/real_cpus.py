"""The CPUs of the machine below."""

from __future__ import annotations

import os


def real_cpus(cpus: int, *, pinned: bool) -> list[int]:
    """The CPUs that programs run on. If they are `pinned` these are no more than `cpus`, as getcpu(2) tells which."""
    found = sorted(os.sched_getaffinity(0))
    return found[:cpus] if pinned else found
