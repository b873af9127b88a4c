"""Random cases: the same seed always gives the same case, so a difference found once can be asked again.

Left out is what real kernels do not answer twice: memory use, operations by frozen processes, the writer in a cgroup
that is killed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .case import Case
from .cases.file_sets import CONTROLLERS_V2
from .cases.values import GROUPS

_DIRECTORIES = ("a", "b", "a/c", "a/c/d", "b/e")
_PROCESSES = ("w", "x", "y")

#: Settings by v2 file or v1 file, with values that its parser takes or nearly takes.
_SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "v2": {
        "cpu.weight": ("1", "100", "10000", "10001"),
        "cpu.weight.nice": ("-20", "0", "19", "20"),
        "cpu.max": ("max", "10000", "50000 100000", "max 20000", "999", "90000 1000000"),
        "cpu.max.burst": ("0", "1000", "20000", "200000"),
        "cpu.idle": ("0", "1"),
        "memory.min": ("0", "4096", "1M", "max"),
        "memory.low": ("0", "1M", "max"),
        "memory.high": ("1G", "max"),
        "memory.max": ("1G", "4097M", "max"),
        "memory.swap.max": ("0", "1M", "max"),
        "memory.oom.group": ("0", "1"),
        "pids.max": ("100", "4194304", "max"),
        "io.max": ("259:0 rbps=1000", "259:1 wiops=5 rbps=max", "259:0 rbps=max", "8:0 rbps=1"),
        "io.weight": ("100", "default 50", "10001"),
        "cpuset.cpus": ("0-3", "0-1", "2,3", "1", "\n", "4"),
        "cpuset.mems": ("0", "0-1", "1", "\n", "2"),
        "hugetlb.2MB.max": ("0", "4M", "3M", "max"),
        "cgroup.freeze": ("0", "1"),
        "cgroup.max.depth": ("0", "1", "3", "max"),
        "cgroup.max.descendants": ("0", "1", "3", "max"),
        "cgroup.type": ("threaded",),
        "cgroup.pressure": ("0", "1"),
        "cgroup.subtree_control": tuple(f"{sign}{c}" for c in CONTROLLERS_V2 for sign in "++-"),
    },
    "v1": {
        "cpu,cpuacct/cpu.shares": ("2", "1024", "262145"),
        "cpu,cpuacct/cpu.cfs_quota_us": ("-1", "999", "20000", "50000", "100000"),
        "cpu,cpuacct/cpu.cfs_period_us": ("1000", "50000", "100000", "1000000"),
        "cpu,cpuacct/cpu.cfs_burst_us": ("0", "1000", "60000"),
        "cpu,cpuacct/cpu.idle": ("0", "1"),
        "memory/memory.limit_in_bytes": ("1G", "2G", "-1"),
        "memory/memory.memsw.limit_in_bytes": ("1G", "2G", "-1"),
        "memory/memory.soft_limit_in_bytes": ("1M", "-1"),
        "memory/memory.swappiness": ("0", "100", "201"),
        "memory/memory.oom_control": ("0", "1"),
        "pids/pids.max": ("100", "max"),
        "cpuset/cpuset.cpus": ("0-3", "0-1", "2,3", "1", "\n"),
        "cpuset/cpuset.mems": ("0", "0-1", "1", "\n"),
        "cpuset/cpuset.cpu_exclusive": ("0", "1"),
        "cpuset/cpuset.mem_exclusive": ("0", "1"),
        "cpuset/cgroup.clone_children": ("0", "1"),
        "devices/devices.allow": ("c 1:3 rwm", "b 8:* r", "c *:* m"),
        "devices/devices.deny": ("c 1:3 w", "b 8:0 rwm", "c *:* r"),
        "blkio/blkio.throttle.read_bps_device": ("259:0 1000", "259:1 5", "259:0 0", "8:0 1"),
        "hugetlb/hugetlb.2MB.limit_in_bytes": ("4M", "3M", "-1"),
        "net_cls,net_prio/net_cls.classid": ("1", "65537"),
        "systemd/notify_on_release": ("0", "1"),
    },
}


def random_case(seed: int, layout: str, length: int = 60) -> Case:
    """A case of about ``length`` operations."""
    return Case(f"random {seed}", layout, tuple(_Writer(random.Random(seed), layout).ops(length)))


class _Writer:
    """Writes one case.  It keeps no state of the tree: operations that cannot work are wanted too."""

    def __init__(self, chance: random.Random, layout: str) -> None:
        self._chance = chance
        self._v2 = layout == "v2"
        names = sorted(_SETTINGS[layout])
        self._settings = _SETTINGS[layout]
        self._files = chance.sample(names, min(len(names), 6))  # few, so that they meet
        if self._v2 and "cgroup.subtree_control" not in self._files:
            self._files.append("cgroup.subtree_control")
        self._forked: list[str] = []

    def ops(self, length: int) -> list[tuple[Any, ...]]:
        result: list[tuple[Any, ...]] = []
        if self._v2:
            wanted = {file.partition(".")[0] for file in self._files} & set(CONTROLLERS_V2)
            result += [("write", "cgroup.subtree_control", f"+{controller}") for controller in sorted(wanted)]
        for directory in _DIRECTORIES[:3]:
            result += [("mkdir", place) for place in self._everywhere(directory)]
        kinds: list[tuple[int, Callable[[], list[tuple[Any, ...]]]]] = [
            (40, self._set),
            (8, self._set_strangely),
            (8, self._make),
            (5, self._remove),
            (8, self._move),
            (3, self._rename),
            (4, self._attributes),
            (2, self._kill),
        ]
        weights = [weight for weight, _ in kinds]
        while len(result) < length:
            ((_, write),) = self._chance.choices(kinds, weights)
            result += write()
        return result

    def _everywhere(self, directory: str) -> list[str]:
        """A directory in every hierarchy that the case uses."""
        if self._v2:
            return [directory]
        return [f"{hierarchy}/{directory}" for hierarchy in sorted({f.partition("/")[0] for f in self._files})]

    def _directory(self) -> str:
        return self._chance.choice(_DIRECTORIES)

    def _place(self, directory: str) -> str:
        return self._chance.choice(self._everywhere(directory))

    def _file(self) -> tuple[str, str]:
        """A setting's key and its path in some directory, sometimes the root."""
        key = self._chance.choice(self._files)
        directory = self._directory() if self._chance.random() < 0.9 else ""
        if self._v2:
            return key, f"{directory}/{key}".lstrip("/")
        hierarchy, _, name = key.partition("/")
        return key, f"{hierarchy}/{directory}/{name}".replace("//", "/")

    def _set(self) -> list[tuple[Any, ...]]:
        key, path = self._file()
        of_a_root = path.count("/") < (1 if self._v2 else 2)
        if of_a_root and key not in ("cgroup.subtree_control", "cgroup.max.depth", "cgroup.max.descendants"):
            return [("read", path)]
        return [("write", path, self._chance.choice(self._settings[key])), ("read", path)]

    def _set_strangely(self) -> list[tuple[Any, ...]]:
        key, path = self._file()
        if key.partition("/")[2] in ("devices.allow", "devices.deny") or path.count("/") < (1 if self._v2 else 2):
            return []
        if key.startswith("memory.") or "limit_in_bytes" in key or key.endswith(("cgroup.freeze", "pids.max")):
            return []  # a limit near nothing makes what follows depend on the memory and the pids in use
        group = self._chance.choice(sorted(GROUPS))
        return [("write", path, self._chance.choice(GROUPS[group])), ("read", path)]

    def _make(self) -> list[tuple[Any, ...]]:
        return [("mkdir", place) for place in self._everywhere(self._directory())]

    def _remove(self) -> list[tuple[Any, ...]]:
        place = self._place(self._directory())
        return [("rmdir", place), ("settle", 100)]  # a removed cgroup still counts for a while

    def _rename(self) -> list[tuple[Any, ...]]:
        return [("rename", self._place(self._directory()), self._place(self._directory()))]

    def _attributes(self) -> list[tuple[Any, ...]]:
        place = self._place(self._directory())
        if self._chance.random() < 0.5:
            return [("chmod", place, self._chance.choice(("0755", "0700", "0777"))), ("stat", place)]
        return [("stat", place), ("listdir", place)]

    def _move(self) -> list[tuple[Any, ...]]:
        name = self._chance.choice(_PROCESSES)
        result: list[tuple[Any, ...]] = []
        if name not in self._forked:
            self._forked.append(name)
            result.append(("fork", name))
        place = self._place(self._directory())
        result += [("write", f"{place}/cgroup.procs", f"${name}"), ("read", f"{place}/cgroup.procs")]
        if self._v2:
            result += [("read", f"{place}/cgroup.type"), ("read", f"{place}/cgroup.events")]
        return result

    def _kill(self) -> list[tuple[Any, ...]]:
        if not self._forked:
            return []
        name = self._forked.pop()
        place = self._place(self._directory())
        return [("kill", name), ("wait", name), ("settle", 20), ("read", f"{place}/cgroup.procs")]
