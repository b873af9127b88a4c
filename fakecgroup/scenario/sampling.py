"""What the cgroups of a kernel have used by now, read from their files."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..core.cgroup import Cgroup
from ..core.hierarchy import Hierarchy
from ..kernel import Kernel
from .numbers import number_of, numbers
from .outcome import Sample

_RESOURCES = ("cpu", "memory", "io")


def samples(kernel: Kernel, time: int, wanted: Collection[str] | None = None) -> Iterator[Sample]:
    """A sample of each cgroup but the root, by path; on v1 of the cpu hierarchy, with the memory of the same path.

    `time` is in ns since the start. `wanted` are the paths of those to sample; None for all.
    """
    cpu = _hierarchy(kernel, "cpu")
    if cpu is None:
        return
    for cgroup in sorted(cpu.root.descendants(), key=lambda cgroup: cgroup.path):
        if wanted is not None and cgroup.path.lstrip("/") not in wanted:
            continue
        path = f"{'' if kernel.layout == 'v2' else '/cpu'}{cgroup.path}"
        stat = numbers(kernel.read(f"{path}/cpu.stat"))
        if not cpu.dfl:
            stat["usage_usec"] = int(kernel.read(f"{path}/cpuacct.usage")) // 1000
            stat["throttled_usec"] = stat.get("throttled_time", 0) // 1000
        yield Sample(
            time,
            cgroup.path.lstrip("/"),
            stat["usage_usec"],
            stat.get("nr_periods", 0),
            stat.get("nr_throttled", 0),
            stat.get("throttled_usec", 0),
            _memory(kernel, cgroup),
            {resource: _pressure(kernel, path, resource) for resource in _RESOURCES} if cpu.dfl else {},
            kernel.killed(path),
        )


def _hierarchy(kernel: Kernel, controller: str) -> Hierarchy | None:
    return next((one for one in kernel.hierarchies if controller in one.controllers), None)


def _memory(kernel: Kernel, cgroup: Cgroup) -> int | None:
    path = "/memory{}/memory.usage_in_bytes" if kernel.layout != "v2" else "{}/memory.current"
    try:
        return int(kernel.read(path.format(cgroup.path)))
    except OSError:
        return None


def _pressure(kernel: Kernel, path: str, resource: str) -> tuple[float, int]:
    text = kernel.read(f"{path}/{resource}.pressure")
    average, total = number_of(text, "some.avg10"), number_of(text, "some.total")
    return float(average or 0), int(total or 0)
