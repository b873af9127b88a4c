"""Pods over virtual time."""

from __future__ import annotations

import pytest

from cgroup_engine.errors import InputError
from cgroup_engine.simulate.play import Played

from .conftest import Play

_HARD = {"evictionHard": {"memory.available": "200Mi"}, "enforceNodeAllocatable": []}


def _grows(pod: str, speed: str = "10Mi/s") -> str:
    return f"  - {{pod: {pod}, phases: [{{for: 1h, cpu: 10m, memory: {{start: 10Mi, grow: {speed}}}}}]}}\n"


def _evictions(played: Played) -> list[tuple[float, str, int]]:
    return [(one.time / 1e9, one.eviction.pod.name, one.eviction.grace) for one in played.kubelet.evictions]


def test_a_quota_throttles_a_container(play: Play) -> None:
    busy = "workloads: [{pod: default/p1, loop: forever, phases: [{for: 10s, cpu: 1}]}]"
    played = play(busy, {"limits": {"cpu": "500m"}}, until=10 * 10**9)
    last = played.outcome.samples[-1]
    assert last.usage == pytest.approx(5e6, rel=0.02)
    assert last.nr_throttled >= 98


def test_a_container_over_its_limit_is_killed_and_nobody_evicted(play: Play) -> None:
    played = play("workloads:\n" + _grows("p1"), {"limits": {"memory": "50Mi"}}, {}, until=10**11, config=_HARD)
    assert [kill.workload for kill in played.kills] == ["default/p1/c"]
    assert played.kills[0].time == pytest.approx(4e9, rel=0.02)
    assert _evictions(played) == []


def test_the_pod_that_exceeds_its_request_is_evicted_at_the_next_look(play: Play) -> None:
    # 824Mi are left to use; p1 has 10Mi + 10Mi/s, p2 holds 300Mi: 52 s
    usage = "workloads:\n" + _grows("p1") + "  - {pod: p2, phases: [{for: 1h, cpu: 0, memory: 300Mi}]}\n"
    played = play(usage, {}, {"requests": {"memory": "400Mi"}}, until=10**11, config=_HARD)
    assert _evictions(played) == [(60.0, "p1", 1)]
    assert played.kills == ()


def test_what_is_evicted_leaves_the_tree(play: Play) -> None:
    played = play("workloads:\n" + _grows("p1"), {}, {}, until=2 * 10**11, config=_HARD)
    [path] = {one.path for one in played.containers if one.pod is not None and one.pod.name == "p1"}
    times = [sample.time for sample in played.outcome.samples if sample.cgroup == path]
    assert max(times) <= played.kubelet.evictions[0].time + 10**9
    assert [pod.name for pod in played.ranking] == ["p2"]


def test_a_soft_threshold_gives_its_own_grace_period(play: Play) -> None:
    config = {
        **_HARD,
        "evictionHard": {"memory.available": "0%"},
        "evictionSoft": {"memory.available": "50%"},
        "evictionSoftGracePeriod": {"memory.available": "15s"},
        "evictionMaxPodGracePeriod": 20,
    }
    usage = "workloads: [{pod: p1, phases: [{for: 1h, cpu: 10m, memory: 600Mi}]}]"
    assert _evictions(play(usage, {}, until=10**11, config=config)) == [(30.0, "p1", 20)]


def test_the_second_pod_goes_a_second_after_the_first_is_gone(play: Play) -> None:
    hold = "  - {{pod: {}, phases: [{{for: 1h, cpu: 10m, memory: {}}}]}}\n"
    usage = "workloads:\n" + hold.format("p1", "100Mi") + hold.format("p2", "500Mi") + hold.format("p3", "400Mi")
    played = play(
        usage,
        {"priority": 1},
        {"priority": 1},
        {"priority": 0},
        until=10**11,
        config={**_HARD, "evictionHard": {"memory.available": "800Mi"}},
    )
    assert _evictions(played) == [(10.0, "p3", 1), (12.0, "p2", 1)]


def test_a_critical_pod_is_never_evicted(play: Play) -> None:
    static = {"annotations": {"kubernetes.io/config.source": "file"}}
    played = play("workloads:\n" + _grows("p1", "8Mi/s"), static, {}, until=11 * 10**10, config=_HARD)
    assert _evictions(played) == [(110.0, "p2", 1)]


def test_memory_pressure_stays_for_the_transition_period(play: Play) -> None:
    config = {**_HARD, "evictionPressureTransitionPeriod": "30s"}
    played = play("workloads:\n" + _grows("p1", "20Mi/s"), {}, until=10**11, config=config)
    [begin, end] = played.kubelet.pressure
    assert (begin[1], end[1]) == (True, False)
    assert end[0] - begin[0] >= 30 * 10**9


def test_no_hard_threshold_means_that_the_kernel_kills(play: Play) -> None:
    usage = "workloads:\n" + _grows("p1", "50Mi/s")
    played = play(usage, {}, until=60 * 10**9)
    assert _evictions(played) == []
    assert [kill.workload for kill in played.kills] == ["default/p1/c"]


def test_containers_have_the_oom_score_of_their_class(play: Play) -> None:
    usage = "workloads:\n" + _grows("p1", "20Mi/s") + _grows("p2", "20Mi/s")
    guaranteed = {"limits": {"cpu": "1", "memory": "900Mi"}}
    played = play(usage, guaranteed, {}, until=60 * 10**9)
    assert played.kills[0].workload == "default/p2/c"


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("[p1]", None),
        ("[]", "usage.yaml:3:13: at 100 s evicted is to be no pod, and is default/p1"),
    ],
)
def test_expected_evictions_are_checked(play: Play, expected: str, line: str | None) -> None:
    usage = "workloads:\n" + _grows("p1", "20Mi/s") + f"expect:    [{{time: 100s, evicted: {expected}}}]"
    played = play(usage, {}, config=_HARD)
    assert played.unmet_evictions == ([line] if line else [])
    assert played.holds == (line is None)


def test_nothing_says_when_to_stop(play: Play) -> None:
    with pytest.raises(InputError, match=r"usage\.yaml: nothing says when to stop; give --until, such as 1h"):
        play("workloads:\n" + _grows("p1"), {})


@pytest.mark.parametrize(("reclaimable", "evicted"), [("100%", []), ("0%", [(10.0, "p1", 1)])])
def test_page_cache_that_is_not_in_use_is_available(
    play: Play, reclaimable: str, evicted: list[tuple[float, str, int]]
) -> None:
    usage = f"workloads: [{{pod: p1, phases: [{{for: 1h, memory: 10Mi, file: 900Mi, reclaimable: {reclaimable}}}]}}]"
    assert _evictions(play(usage, {}, until=20 * 10**9, config=_HARD)) == evicted
