"""Eviction for memory, against the answers of a compiled kubelet's eviction manager and rule by rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cgroup_engine.errors import ConfigError
from cgroup_engine.inputs.config.eviction import check_eviction, eviction_config
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.kubelet.eviction import Eviction, EvictionManager
from cgroup_engine.kubelet.eviction_ranking import memory_request, rank_memory_pressure
from cgroup_engine.kubelet.eviction_thresholds import EvictionConfig, Observation, Signal, Threshold
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Container, Pod, Resources
from cgroup_engine.model.quantity import parse

from ..conftest import DATA
from ..kubelet_tables import rows_of

_SECOND = 10**9
_MI = 1 << 20
RECORDED = rows_of(DATA / "evictions.jsonl.gz")


def _memory(text: str | None) -> Resources:
    return {"memory": parse(text)} if text else {}


def _pod(name: str, **fields: Any) -> Pod:
    """A pod of the recordings' words."""
    source = fields.get("source")
    annotations = {"kubernetes.io/config.source": source} if source else {}
    if source == "mirror":
        annotations = {"kubernetes.io/config.mirror": "x"}
    init = [Container(f"i{n}", _memory(text), init=True) for n, text in enumerate(fields.get("init", ()))]
    init += [
        Container(f"s{n}", _memory(text), init=True, sidecar=True) for n, text in enumerate(fields.get("sidecars", ()))
    ]
    return Pod(
        uid=name,
        name=name,
        namespace="default",
        containers=tuple(Container(str(n), _memory(text)) for n, text in enumerate(fields.get("requests", [""]))),
        init_containers=tuple(init),
        overhead=_memory(fields.get("overhead")),
        requests=_memory(fields.get("podRequest")),
        annotations=annotations,
        priority=fields.get("priority"),
        termination_grace=fields.get("grace", 1 << 31),
    )


def _fields(config: Mapping[str, Any]) -> ConfigFields:
    fields = {
        "evictionHard": config.get("hard", {}),
        "evictionSoft": config.get("soft", {}),
        "evictionSoftGracePeriod": config.get("softGrace", {}),
        "evictionMinimumReclaim": config.get("minReclaim", {}),
        "evictionMaxPodGracePeriod": config.get("maxGrace", 0),
        "evictionPressureTransitionPeriod": config.get("transition"),
    }
    return ConfigFields(fields, "config", KubeletVersion(36))


@pytest.mark.parametrize("number", [n for n, one in enumerate(RECORDED) if "pods" in one])
def test_every_look_is_that_of_the_kubelets_eviction_manager(number: int) -> None:
    recorded = RECORDED[number]
    enforced = frozenset(recorded["config"].get("enforce", ()))
    manager = EvictionManager(eviction_config(_fields(recorded["config"]), enforced))
    pods = [_pod(**fields) for fields in recorded["pods"]]
    for step in recorded["steps"]:
        available, working_set = step["available"], step["workingSet"]
        observed: dict[Signal, Observation] = {"memory.available": Observation(available, available + working_set)}
        if "allocatable" in step:
            observed["allocatableMemory.available"] = Observation(step["allocatable"][0], sum(step["allocatable"]))
        ranked = [pod.name for pod in rank_memory_pressure(pods, step["pods"])]
        eviction = manager.look(step["time"] * _SECOND, observed, pods, step["pods"])
        assert (ranked, _name(eviction)) == (step["ranked"], step["evicted"])
        assert manager.pressure == step["pressure"]
        if eviction is not None:
            assert eviction.grace in step["graces"]
            pods.remove(eviction.pod)


def _name(eviction: Eviction | None) -> str | None:
    return None if eviction is None else eviction.pod.name


@pytest.mark.parametrize("config", [one["config"] for one in RECORDED if "refused" in one], ids=str)
def test_what_a_kubelet_refuses_is_refused_or_warned_of(config: Mapping[str, Any]) -> None:
    fields = _fields(config)
    try:
        check_eviction(fields)
        eviction_config(fields, frozenset())
    except ConfigError:
        return
    (warning,) = fields.warnings
    assert "a kubelet does not start with it" in warning


# -- rule by rule -----------------------------------------------------------------------------------


def test_a_pod_over_its_request_goes_before_one_of_lower_priority() -> None:
    over, within = _pod("over", requests=["100Mi"], priority=1000), _pod("within", requests=["1Gi"], priority=-5)
    assert rank_memory_pressure([within, over], {"over": 101 * _MI, "within": 900 * _MI}) == [over, within]


def test_the_overhead_counts_only_beside_a_request() -> None:
    with_request, without = _pod("a", requests=["64Mi"], overhead="20Mi"), _pod("b", requests=[""], overhead="20Mi")
    assert (memory_request(with_request), memory_request(without)) == (84 * _MI, 0)


def _looked(config: EvictionConfig, *looks: tuple[int, int], pods: tuple[Pod, ...] = (_pod("a"),)) -> list[int | None]:
    """The grace of what is evicted at each look: (seconds, bytes available)."""
    manager = EvictionManager(config)
    found = []
    for time, available in looks:
        eviction = manager.look(time * _SECOND, {"memory.available": Observation(available, 1 << 30)}, pods, {})
        found.append(None if eviction is None else eviction.grace)
    return found


def test_a_pod_has_at_least_a_second_to_end() -> None:
    threshold = Threshold("memory.available", 1, 0)
    assert [Eviction(_pod("a"), grace, threshold, ()).seconds for grace in (-1, 0, 1, 5)] == [1, 1, 1, 5]


def test_exactly_the_threshold_is_enough() -> None:
    config = EvictionConfig((Threshold("memory.available", 100 * _MI),))
    assert _looked(config, (0, 100 * _MI), (1, 100 * _MI - 1)) == [None, 1]


def test_a_soft_threshold_waits_for_its_grace_period_without_a_break() -> None:
    config = EvictionConfig((Threshold("memory.available", 100 * _MI, 30 * _SECOND),), max_pod_grace=7)
    looks = [(0, 0), (20, 0), (25, 1 << 29), (30, 0), (50, 0), (60, 0)]
    assert _looked(config, *looks) == [None, None, None, None, None, 7]


def test_eviction_goes_on_until_the_minimum_is_reclaimed() -> None:
    config = EvictionConfig((Threshold("memory.available", 100 * _MI, min_reclaim=50 * _MI),))
    assert _looked(config, (0, 99 * _MI), (10, 149 * _MI), (20, 150 * _MI), (30, 149 * _MI)) == [1, 1, None, None]


def test_a_critical_pod_is_passed_over() -> None:
    static, usual = _pod("static", source="file"), _pod("usual", requests=["1Gi"])
    manager = EvictionManager(EvictionConfig((Threshold("memory.available", 0.5),)))
    eviction = manager.look(
        0, {"memory.available": Observation(0, 1 << 30)}, [static, usual], {"static": 1, "usual": 0}
    )
    assert eviction is not None
    assert (eviction.pod, eviction.ranked) == (usual, (static, usual))
