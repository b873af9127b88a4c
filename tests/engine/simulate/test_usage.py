"""Files for --usage."""

from __future__ import annotations

import pytest

from cgroup_engine.errors import InputError

from .conftest import Play

_PHASES = "phases: [{for: 1s, cpu: 1}]"
_KWOK = "apiVersion: kwok.x-k8s.io/v1alpha1\n"


def _usage(play: Play, text: str, pod: dict[str, object] | None = None) -> list[int]:
    """µs that the containers of two equal pods used in a second."""
    played = play(text, pod or {}, pod or {}, until=10**9)
    paths = [container.path for container in played.containers]
    return [sample.usage for path in paths for sample in played.outcome.samples if sample.cgroup == path]


def test_a_workload_without_a_container_is_of_the_only_one(play: Play) -> None:
    assert _usage(play, f"workloads: [{{pod: default/p2, {_PHASES}}}]") == [0, 1_000_000]


def test_a_workload_may_be_in_a_cgroup_beside_the_pods(play: Play) -> None:
    played = play(f"cgroups: {{system: }}\nworkloads: [{{cgroup: system, {_PHASES}}}]", until=10**9)
    assert [one.usage for one in played.outcome.samples if one.cgroup == "system"] == [1_000_000]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"workloads: [{{pod: web, {_PHASES}}}]", "usage.yaml:1:19: there is no pod 'web' on the node"),
        (
            f"workloads: [{{pod: p1, container: d, {_PHASES}}}]",
            "usage.yaml:1:34: the pod default/p1 has no running container 'd'; there is c",
        ),
        (f"workloads: [{{container: c, {_PHASES}}}]", "usage.yaml:1:14: container goes with pod"),
        (
            f"workloads: [{{pod: p1, cgroup: a, {_PHASES}}}]",
            "usage.yaml:1:23: cgroup and pod exclude each other",
        ),
        ("workloads: [{pod: p1, phases: [{for: 1x}]}]", "usage.yaml:1:38: phases[0].for: '1x' is no time"),
        ("machine: {cpus: 3}", "usage.yaml:1:1: the machine is the node: its size is given by --cpus"),
        ("expect: [{time: 1s, evicted: [p9]}]", "usage.yaml:1:31: there is no pod 'p9' on the node"),
        ("expect: [{time: 1s, evicted: [], killed: 1}]", "usage.yaml:1:34: killed does not go with evicted"),
        ("expect: [{time: 1s, pod: p1, file: a}]", "usage.yaml:1:10: one of has and between is needed"),
        (
            "expect: [{time: 1s, pod: p1, cgroup: a, killed: 1}]",
            "usage.yaml:1:30: cgroup and pod exclude each other",
        ),
        ("at: [{time: 1s, pod: p9, write: {cpu.max: max}}]", "usage.yaml:1:22: there is no pod 'p9' on the node"),
        ("at: [{time: 1s, pod: p1, write: {cpu.mox: max}}]", "usage.yaml:1:43: the kernel refuses 'max' for kubepods/"),
        ("[1", "usage.yaml:1:3: "),
        ("- 1", "usage.yaml:1:1: a mapping is needed here"),
        ("a: 1\n---\nb: 1", "usage.yaml:1:1: several documents are kwok's"),
        (_KWOK + "kind: Pod\nspec: {}", "usage.yaml:2:7: no kind 'Pod'; there is ResourceUsage, ClusterResourceUsage"),
    ],
)
def test_a_wrong_file_is_one_line_with_its_place(play: Play, text: str, line: str) -> None:
    with pytest.raises(InputError) as refused:
        play(text, {}, until=10**9)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_a_resource_usage_is_of_the_pod_of_its_name(play: Play) -> None:
    text = _KWOK + "kind: ResourceUsage\nmetadata: {name: p2}\nspec: {usages: [{usage: {cpu: {value: 250m}}}]}"
    assert _usage(play, text) == [0, 250_000]


def test_a_resource_usage_wins_over_that_of_the_cluster(play: Play) -> None:
    cluster = _KWOK + "kind: ClusterResourceUsage\nmetadata: {name: a}\nspec: {usages: [{usage: {cpu: {value: 100m}}}]}"
    own = (
        _KWOK
        + "kind: ResourceUsage\nmetadata: {name: p2, namespace: default}\nspec: {usages: [{usage: {cpu: {value: 1}}}]}"
    )
    assert _usage(play, f"{cluster}\n---\n{own}") == [100_000, 1_000_000]


@pytest.mark.parametrize(
    ("selector", "used"),
    [
        ("{}", [100_000, 100_000]),
        ("{matchNames: [p1, x]}", [100_000, 0]),
        ("{matchNamespaces: [kube-system]}", [0, 0]),
        ("{matchNamespaces: [default], matchNames: [p2]}", [0, 100_000]),
    ],
)
def test_a_selector_chooses_pods(play: Play, selector: str, used: list[int]) -> None:
    spec = f"{{selector: {selector}, usages: [{{usage: {{cpu: {{value: 100m}}}}}}]}}"
    assert _usage(play, _KWOK + f"kind: ClusterResourceUsage\nspec: {spec}") == used


def test_usages_are_of_the_containers_that_they_name(play: Play) -> None:
    usages = "[{containers: [d], usage: {cpu: {value: 1}}}, {containers: [c], usage: {cpu: {value: 50m}}}]"
    assert _usage(play, _KWOK + f"kind: ClusterResourceUsage\nspec: {{usages: {usages}}}") == [50_000, 50_000]


def test_memory_is_held_and_an_expression_may_be_an_annotation(play: Play) -> None:
    expression = "'Quantity(pod.metadata.annotations[\"mem\"])'"
    spec = f"{{usages: [{{usage: {{memory: {{expression: {expression}}}}}}}]}}"
    played = play(_KWOK + f"kind: ClusterResourceUsage\nspec: {spec}", {"annotations": {"mem": "64Mi"}}, until=10**9)
    [path] = [container.path for container in played.containers]
    assert [one.memory for one in played.outcome.samples if one.cgroup == path] == [
        (64 << 20) + 33 * 4096
    ]  # and page tables


def test_an_expression_that_is_not_known_is_refused_with_its_place(play: Play) -> None:
    spec = "{usages: [{usage: {cpu: {expression: Rand()}}}]}"
    with pytest.raises(InputError, match=r"^usage\.yaml:3:44: this expression is not simulated: use value"):
        play(_KWOK + f"kind: ClusterResourceUsage\nspec: {spec}", {}, until=10**9)


def test_a_write_and_an_expectation_may_be_of_a_pod_or_of_its_container(play: Play) -> None:
    played = play(
        "at:\n"
        "  - {time: 1s, pod: p1, write: {cpu.weight: 77}}\n"
        "  - {time: 1s, pod: p1, container: c, write: {cpu.weight: 88, cpu.max: 20000 100000}}\n"
        "expect:\n"
        "  - {time: 2s, pod: p1, file: cpu.weight, between: [77, 77]}\n"
        "  - {time: 2s, pod: p1, container: c, file: cpu.weight, between: [88, 88]}\n"
        "  - {time: 2s, pod: p1, container: c, file: cpu.max, has: 20000 100000}\n"
        "  - {time: 2s, pod: p1, killed: 0}\n"
    )
    assert [one.seen for one in played.outcome.checked if not one.holds] == []
    assert len(played.outcome.checked) == 4
