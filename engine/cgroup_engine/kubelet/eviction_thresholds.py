"""When the kubelet evicts pods for memory: its thresholds, and what they are compared with.

Sources: ``pkg/kubelet/eviction/helpers.go`` (ParseThresholdConfig, thresholdsMet) and ``api/types.go``, kubelet 1.36.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

Signal = Literal["memory.available", "allocatableMemory.available"]
Amount = int | float  # bytes, or a part of the capacity


@dataclass(frozen=True, slots=True)
class Threshold:
    """The kubelet evicts when less than ``value`` is available for as long as ``grace_ns``; 0 is a hard threshold.

    ``min_reclaim``: so much more must be available before the threshold counts as not met again.
    """

    signal: Signal
    value: Amount
    grace_ns: int = 0
    min_reclaim: Amount = 0

    @property
    def hard(self) -> bool:
        return self.grace_ns == 0

    def met(self, observed: Observation, *, enforce_min_reclaim: bool) -> bool:
        """Is less available than the threshold, or than it and ``min_reclaim`` together (thresholdsMet)?"""
        bound = _of(self.value, observed.capacity)
        if enforce_min_reclaim:
            bound += _of(self.min_reclaim, observed.capacity)
        return bound > observed.available


@dataclass(frozen=True, slots=True)
class Observation:
    """Bytes that are available now, of a capacity in bytes."""

    available: int
    capacity: int


@dataclass(frozen=True, slots=True)
class EvictionConfig:
    """When and how a kubelet evicts for memory.

    ``transition_ns``: evictionPressureTransitionPeriod, for which the condition MemoryPressure stays after a threshold
    was last met. ``max_pod_grace``: evictionMaxPodGracePeriod in seconds, for soft thresholds.
    """

    thresholds: tuple[Threshold, ...] = ()
    transition_ns: int = 300 * 10**9
    max_pod_grace: int = 0


def with_allocatable(thresholds: Collection[Threshold], enforced: Collection[str]) -> tuple[Threshold, ...]:
    """The thresholds, and the hard ones for the memory of all pods together if ``pods`` is enforced
    (addAllocatableThresholds).
    """
    if "pods" not in enforced:
        return tuple(thresholds)
    more = [
        Threshold("allocatableMemory.available", one.value, 0, one.min_reclaim)
        for one in thresholds
        if one.signal == "memory.available" and one.hard
    ]
    return (*thresholds, *more)


Observations = Mapping[Signal, Observation]


def _of(amount: Amount, capacity: int) -> int:
    """GetThresholdQuantity: an amount, or a part of the capacity, cut to whole bytes."""
    return amount if isinstance(amount, int) else int(float(capacity) * amount)
