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
    """A sample of each cgroup but the root, by path; on v1 of what has this path in the hierarchies cpu and memory.

    `time` is in ns since the start. `wanted` are the paths of those to sample; None for all.
    """
    hierarchies = {name: one for name in ("cpu", "memory") if (one := _hierarchy(kernel, name)) is not None}
    homes: dict[str, dict[str, Cgroup]] = {}
    for name, hierarchy in hierarchies.items():
        for cgroup in hierarchy.root.descendants():
            homes.setdefault(cgroup.path, {})[name] = cgroup
    for path, places in sorted(homes.items(), key=lambda home: home[0]):
        if wanted is not None and path.lstrip("/") not in wanted:
            continue
        prefixes = dict.fromkeys("" if kernel.layout == "v2" else f"/{name}" for name in places)
        stat = _cpu_stat(kernel, path) if "cpu" in places else {}
        yield Sample(
            time,
            path.lstrip("/"),
            stat.get("usage_usec", 0),
            stat.get("nr_periods", 0),
            stat.get("nr_throttled", 0),
            stat.get("throttled_usec", 0),
            _memory(kernel, path),
            {one: _pressure(kernel, path, one) for one in _RESOURCES} if kernel.layout == "v2" else {},
            max(kernel.killed(f"{prefix}{path}") for prefix in prefixes),
        )


def _cpu_stat(kernel: Kernel, path: str) -> dict[str, int]:
    """The numbers of cpu.stat, under their names on v2."""
    if kernel.layout == "v2":
        return numbers(kernel.read(f"{path}/cpu.stat"))
    stat = numbers(kernel.read(f"/cpu{path}/cpu.stat"))
    stat["usage_usec"] = int(kernel.read(f"/cpu{path}/cpuacct.usage")) // 1000
    stat["throttled_usec"] = stat.get("throttled_time", 0) // 1000
    return stat


def _hierarchy(kernel: Kernel, controller: str) -> Hierarchy | None:
    return next((one for one in kernel.hierarchies if controller in one.controllers), None)


def _memory(kernel: Kernel, path: str) -> int | None:
    file = f"/memory{path}/memory.usage_in_bytes" if kernel.layout != "v2" else f"{path}/memory.current"
    try:
        return int(kernel.read(file))
    except OSError:
        return None


def _pressure(kernel: Kernel, path: str, resource: str) -> tuple[float, int]:
    try:
        text = kernel.read(f"{path}/{resource}.pressure")
    except OSError:  # cgroup.pressure is 0
        return 0.0, 0
    average, total = number_of(text, "some.avg10"), number_of(text, "some.total")
    return float(average or 0), int(total or 0)
