"""What the kubelet reads of memory in use, and what it makes of it.

Sources: ``opencontainers/cgroups/fs2/memory.go`` (statMemory, rootStatsFromMeminfo), cadvisor's
``container/libcontainer/handler.go`` (setMemoryStats), ``pkg/kubelet/stats/helper.go``, kubelet 1.36.2.
"""

from __future__ import annotations

from cgroup_engine.kubelet.eviction_thresholds import Observation, Signal
from cgroup_engine.simulate.node_kernel import NodeKernel


def observations(there: NodeKernel, kubepods: str) -> dict[Signal, Observation]:
    """The memory that is available to all, and under the limit of all pods if there is one."""
    root = _stat(there, "")
    usage = max(0, root.get("anon", 0) + root.get("file", 0) - root.get("inactive_file", 0))
    found: dict[Signal, Observation] = {"memory.available": Observation(there.node.memory - usage, there.node.memory)}
    limit = there.read(f"{kubepods}/memory.max").strip()
    if limit.isdigit():
        found["allocatableMemory.available"] = Observation(int(limit) - working_set(there, kubepods), int(limit))
    return found


def working_set(there: NodeKernel, cgroup: str) -> int:
    """Bytes in use without file pages that were not used lately; 0 if the cgroup is gone."""
    usage = there.read(f"{cgroup}/memory.current").strip()
    return max(0, int(usage) - _stat(there, cgroup).get("inactive_file", 0)) if usage else 0


def _stat(there: NodeKernel, cgroup: str) -> dict[str, int]:
    lines = there.read(f"{cgroup}/memory.stat".lstrip("/")).splitlines()
    return {name: int(number) for name, _, number in (line.partition(" ") for line in lines)}
