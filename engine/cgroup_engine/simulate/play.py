"""A node's pods over virtual time: who is throttled, who is killed, whom the kubelet evicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cgroup_engine.errors import InputError
from cgroup_engine.kubelet.eviction_ranking import rank_memory_pressure
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.simulate.kubelet import EvictingKubelet
from cgroup_engine.simulate.node_kernel import NodeKernel
from cgroup_engine.simulate.pod_names import PodNames
from cgroup_engine.simulate.usage import read_usage
from cgroup_engine.simulate.wanted_evictions import WantedEviction
from fakecgroup.scenario import Outcome, ScenarioError
from fakecgroup.scenario.play import play_on
from fakecgroup.simulation.kill import Kill

_MOST_SAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Played:
    """What happened. ``ranking``: the pods that are left, in the order in which the kubelet would evict them then."""

    node: NodeConfig
    containers: Sequence[WantedCgroup]
    outcome: Outcome
    kubelet: EvictingKubelet
    kills: Sequence[Kill]
    ranking: Sequence[Pod]
    expected_evictions: Sequence[WantedEviction]

    @property
    def unmet_evictions(self) -> list[str]:
        """A line for each expected eviction that was not so."""
        evicted = [(one.time, str(one.eviction.pod)) for one in self.kubelet.evictions]
        lines = (one.unmet(evicted) for one in self.expected_evictions)
        return [line for line in lines if line is not None]

    @property
    def holds(self) -> bool:
        """Is everything as expected?"""
        return self.outcome.holds and not self.unmet_evictions


def play_node(
    node: NodeConfig,
    pods: Sequence[Pod],
    usage: str,
    usage_name: str,
    *,
    until: int | None = None,
    every: int | None = None,
    points: int = 60,
    seed: int | None = None,
) -> Played:
    """Lets the pods of a node live until a time (ns; default: the last write or expectation of the usage).

    ``usage``: the text of a file for --usage; ``usage_name``: its name. ``every``: ns between samples; by default there
    are so many ``points``, at least a second apart.

    :raises InputError: the usage is wrong, or nothing says when to stop.
    :raises EngineError: as ``NodeKernel``.
    """
    there = NodeKernel(node, pods, seed or 0)
    try:
        scenario, evictions = read_usage(usage, usage_name, there.wanted)
        if seed is None and scenario.seed:
            there = NodeKernel(node, pods, scenario.seed)
        ends = [time for time in (scenario.ends, *(one.time for one in evictions)) if time is not None]
        until = max(ends, default=None) if until is None else until
        if until is None:
            raise InputError(f"{usage_name}: nothing says when to stop", todo="give --until, such as 1h")
        kubelet = EvictingKubelet(there, pods, scenario.workloads)
        every = every or max(10**9, until // points)
        if until // every > _MOST_SAMPLES:
            raise InputError(
                f"--every: over {_MOST_SAMPLES:,} samples until {until / 1e9:g} s", todo="take a longer time"
            )
        sampled = {one.path for one in PodNames(there.wanted_at_first).containers}
        sampled |= {path for placed in scenario.workloads for path in placed.cgroups}
        outcome = play_on(there.kernel, scenario, until, every, [kubelet], sampled)
    except ScenarioError as error:
        raise InputError(str(error)) from None
    _, working_sets = kubelet.memory()
    return Played(
        there.node,
        PodNames(there.wanted_at_first).containers,
        outcome,
        kubelet,
        there.kernel.kills,
        rank_memory_pressure(kubelet.pods, working_sets),
        [one for one in evictions if one.time <= until],
    )
