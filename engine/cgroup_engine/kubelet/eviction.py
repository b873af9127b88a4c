"""The kubelet's eviction for memory, one look at the node after the other.

Source: ``pkg/kubelet/eviction/eviction_manager.go`` (synchronize, Start), kubelet 1.36.2. Pure: it says whom the
kubelet evicts, and kills nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cgroup_engine.kubelet.eviction_ranking import is_evictable, rank_memory_pressure
from cgroup_engine.kubelet.eviction_thresholds import EvictionConfig, Observations, Threshold
from cgroup_engine.model.pod import Pod

#: Between two looks while nothing is evicted (evictionMonitoringPeriod).
MONITORING_NS = 10 * 10**9
#: After an evicted pod is gone, until that is noticed (podCleanupPollFreq).
CLEANUP_POLL_NS = 10**9
#: Seconds that a pod has to end under a hard threshold (immediateEvictionGracePeriodSeconds).
IMMEDIATE_GRACE = 1


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that is evicted for the sake of a threshold. ``ranked``: all candidates in order, it among them.

    ``grace``: the seconds that the eviction manager asks for, which may be 0 or less.
    """

    pod: Pod
    grace: int
    threshold: Threshold
    ranked: tuple[Pod, ...]

    @property
    def seconds(self) -> int:
        """The seconds that the pod has to end: at least one (calculateEffectiveGracePeriod of ``pod_workers.go``)."""
        return max(1, self.grace)


class EvictionManager:
    """What a kubelet remembers from look to look."""

    def __init__(self, config: EvictionConfig) -> None:
        self._config = config
        self._met: list[Threshold] = []  # with their grace period over, and not resolved
        self._first_met: dict[Threshold, int] = {}
        self._pressure_seen: int | None = None
        self.pressure = False
        """The node's condition MemoryPressure."""

    def look(
        self, now: int, observed: Observations, pods: Sequence[Pod], working_sets: Mapping[str, int]
    ) -> Eviction | None:
        """The pod that is evicted at ``now`` (ns), if any: at most one for each look.

        ``pods``: those that run. ``working_sets``: UID -> bytes.
        """
        met = _met(self._config.thresholds, observed, enforce_min_reclaim=False)
        met += [one for one in _met(self._met, observed, enforce_min_reclaim=True) if one not in met]
        self._first_met = {one: self._first_met.get(one, now) for one in met}
        if met:
            self._pressure_seen = now
        self.pressure = self._pressure_seen is not None and now - self._pressure_seen < self._config.transition_ns
        self._met = [one for one, since in self._first_met.items() if now - since >= one.grace_ns]
        if not self._met:
            return None
        threshold = self._met[-1]  # of several the kubelet takes any, in 7 of 8 looks the last (a sort of a map)
        ranked = tuple(rank_memory_pressure(pods, working_sets))
        for pod in ranked:
            if is_evictable(pod):
                return Eviction(pod, self._grace(pod, threshold), threshold, ranked)
        return None

    def _grace(self, pod: Pod, threshold: Threshold) -> int:
        return IMMEDIATE_GRACE if threshold.hard else min(self._config.max_pod_grace, pod.termination_grace)


def _met(thresholds: Sequence[Threshold], observed: Observations, *, enforce_min_reclaim: bool) -> list[Threshold]:
    return [
        one
        for one in thresholds
        if one.signal in observed and one.met(observed[one.signal], enforce_min_reclaim=enforce_min_reclaim)
    ]
