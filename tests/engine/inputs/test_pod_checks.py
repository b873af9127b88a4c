"""Pods that the API refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.errors import PodError
from cgroup_engine.inputs.pod_checks import overflows
from cgroup_engine.model.pod import Pod

GIB = {"memory": "1Gi"}


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"limits": {"cpu": "-1"}}, r"limits\.cpu: \"-1\" is below zero"),
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, "2 is over its limit of 1"),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, "huge pages without cpu and memory"),
        ({"limits": {"hugepages-2Mi": "3Mi", **GIB}}, "no number of whole pages"),
        ({"limits": {"hugepages-x": "3Mi", **GIB}}, "no number of whole pages"),
        ({"requests": {"hugepages-2Mi": "2Mi", **GIB}}, "has no limit beside it"),
        ({"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "4Mi", **GIB}}, "is not its limit of 4Mi"),
        ({"requests": {"example.com/gpu": "1"}}, "has no limit beside it"),
    ],
)
def test_a_container_is_refused(
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    resources: dict[str, dict[str, str]],
    message: str,
) -> None:
    with pytest.raises(PodError, match=message):
        make_pod(make_container(**resources))


def test_what_overflows_is_taken_and_named_with_what_is_left(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(requests={"memory": "1Gi"}, limits={"memory": "9223372036854775808", "cpu": "1"}))
    assert [line.removeprefix(f"{pod.source}: ") for line in overflows(pod)] == [
        'pod default/p1: c: limits.memory: a kubelet\'s 64 bits take "9223372036854775808" for -9223372036854775808'
    ]


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"limits": {"example.com/gpu": "1"}}, "is not for pods"),
        ({"requests": {"cpu": "500m"}}, "500m is less than the 1 its containers ask for"),
        ({"limits": {"cpu": "1500m"}}, "2 is over the pod's limit of 1500m"),
        ({"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}, "3 is over its limit of 2"),
    ],
)
def test_pod_level_resources_are_refused(
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    resources: dict[str, dict[str, str]],
    message: str,
) -> None:
    container = make_container(requests={"cpu": "1"}, limits={"cpu": "2"})
    with pytest.raises(PodError, match=message):
        make_pod(container, resources=resources)


def test_huge_pages_of_overhead_want_cpu_or_memory(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    with pytest.raises(PodError, match=r"spec\.overhead: has huge pages"):
        make_pod(make_container(), overhead={"hugepages-2Mi": "2Mi"})
