"""What the CPU and the memory manager of a kubelet have assigned, as their state files tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CpuManagerState:
    """Lists of CPUs such as "0-2,7". ``shared``: of all containers without CPUs of their own, "" under policy none.

    ``containers``: pod UID -> container -> its CPUs. ``by_id``: container id -> its CPUs, in the format of kubelets
    before 1.18. ``pods``: pod UID -> the CPUs of a pod with spec.resources (gate PodLevelResourceManagers).
    """

    policy: str
    shared: str
    containers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    by_id: Mapping[str, str] = field(default_factory=dict)
    pods: Mapping[str, str] = field(default_factory=dict)

    def assigned(self, pod_uid: str, container: str, container_id: str | None) -> str | None:
        """The CPUs that are assigned to a container (GetCPUSet); None if it runs on the shared ones."""
        given = self.containers.get(pod_uid, {}).get(container)
        return self.by_id.get(container_id) if given is None and container_id is not None else given


@dataclass(frozen=True)
class MemoryManagerState:
    """``nodes``: pod UID -> container -> the NUMA nodes of its memory, in order."""

    policy: str
    nodes: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)

    def of(self, pod_uid: str, container: str) -> tuple[int, ...]:
        """The NUMA nodes of a container (GetMemoryNUMANodes); none if it may use all."""
        return self.nodes.get(pod_uid, {}).get(container, ())
