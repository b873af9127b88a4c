"""Lists of CPUs as the kernel and the kubelet write them: ``0-2,7``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)


@lru_cache(maxsize=1 << 8)  # most cgroups have the same few lists
def parse_cpu_list(text: str) -> frozenset[int]:
    """The CPU numbers of ``0-2,7``; "" has none (``k8s.io/utils/cpuset`` Parse).

    :raises ValueError: not such a list, or a range that runs backwards.
    """
    cpus: set[int] = set()
    for part in text.split(",") if text else ():
        match = _RANGE.fullmatch(part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(text)
        cpus.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(cpus)


def cpu_list(cpus: Iterable[int]) -> str:
    """``0-2,7`` for 0, 1, 2 and 7, as the kernel shows it."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
