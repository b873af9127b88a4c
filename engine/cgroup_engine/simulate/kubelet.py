"""A kubelet beside the simulated processes: it looks at the memory in use, and evicts pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cgroup_engine.kubelet.eviction import CLEANUP_POLL_NS, MONITORING_NS, Eviction, EvictionManager
from cgroup_engine.kubelet.eviction_thresholds import Observation, Signal
from cgroup_engine.model.names import components, kubepods_name
from cgroup_engine.model.pod import Pod
from cgroup_engine.simulate.node_kernel import NodeKernel
from cgroup_engine.simulate.node_memory import observations, working_set
from fakecgroup.scenario.outcome import Mark
from fakecgroup.scenario.scenario import Placed

_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Evicted:
    """An eviction at a ``time`` (ns since the start), and what led to it: bytes by UID, and what was available."""

    time: int
    eviction: Eviction
    working_sets: dict[str, int]
    observed: Observation


class EvictingKubelet:
    """Looks every 10 s, as a kubelet does, and once more when an evicted pod is gone.

    While a pod ends the kubelet waits for it. The pod's processes live until the end of its grace period, as those do
    that SIGTERM does not end; then its cgroups go, and the classes get their new sums.
    """

    def __init__(self, there: NodeKernel, pods: Sequence[Pod], placed: Sequence[Placed]) -> None:
        self._there = there
        self._placed = placed
        self._manager = EvictionManager(there.node.eviction)
        self._kubepods = "/".join(components(kubepods_name(there.node.cgroup_root), there.node.driver))
        self.pods = [pod for pod in pods if not pod.ended]
        """Those that are not evicted."""
        self._paths = {
            cgroup.pod.uid: cgroup.path for cgroup in there.wanted if cgroup.level == "pod" and cgroup.pod is not None
        }
        self._next = MONITORING_NS
        self._ending: Pod | None = None
        self.evictions: list[Evicted] = []
        self.pressure: list[tuple[int, bool]] = []
        """When the node's condition MemoryPressure changed, and to what."""

    def next(self) -> int | None:
        return self._next

    def look(self, now: int) -> list[Mark]:
        if self._ending is not None:
            self._end(self._ending)
            self._ending = None
            self._next = now + CLEANUP_POLL_NS
            return []
        observed = observations(self._there, self._kubepods)
        working_sets = _WhenAsked(self._working_sets)
        eviction = self._manager.look(now, observed, self.pods, working_sets)
        if self._manager.pressure != (bool(self.pressure) and self.pressure[-1][1]):
            self.pressure.append((now, self._manager.pressure))
        self._next = now + MONITORING_NS
        if eviction is None:
            return []
        pod = eviction.pod
        self.evictions.append(Evicted(now, eviction, dict(working_sets), observed[eviction.threshold.signal]))
        self.pods.remove(pod)
        self._ending, self._next = pod, now + eviction.seconds * _SECOND
        return [Mark(now, "evict", f"{pod} is evicted with {eviction.seconds} s to end")]

    def memory(self) -> tuple[dict[Signal, Observation], dict[str, int]]:
        """What is available now, by signal, and the pods' working sets in bytes by UID."""
        return observations(self._there, self._kubepods), self._working_sets()

    def _working_sets(self) -> dict[str, int]:
        return {pod.uid: working_set(self._there, self._paths[pod.uid]) for pod in self.pods}

    def _end(self, pod: Pod) -> None:
        path = self._paths[pod.uid]
        for placed in self._placed:
            if any(f"{cgroup}/".startswith(f"{path}/") for cgroup in placed.cgroups):
                self._there.kernel.end(placed.workload)
        self._there.apply(self.pods)


class _WhenAsked(Mapping[str, int]):
    """A mapping that is made when somebody looks into it: most looks of a kubelet need no pod's figures."""

    def __init__(self, make: Callable[[], dict[str, int]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> dict[str, int]:
        return self._make()

    def __getitem__(self, key: str) -> int:
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
