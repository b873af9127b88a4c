"""Defaults that the API fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cgroup_engine.inputs.pod_defaults import defaulted
from cgroup_engine.inputs.pod_object import decoded
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import Quantity


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _pod(
    make_object: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
    minor: int = 36,
    **resources: dict[str, str],
) -> Pod:
    version = KubeletVersion(minor, {"PodLevelResources": True} if minor < 34 else {})
    item = make_object(
        make_container("a", limits={"hugepages-2Mi": "4Mi", "memory": "1Gi"}),
        make_container("b", requests={"cpu": "0.0005"}),
        resources=resources,
    )
    return defaulted(decoded(item, "test", version), version)


def test_a_container_asks_for_its_limit_and_at_least_for_milli(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = _pod(make_object, make_container)
    assert _texts(pod.containers[0].requests) == {"hugepages-2Mi": "4Mi", "memory": "1Gi"}
    assert _texts(pod.containers[1].requests) == {"cpu": "1m"}


def test_a_pod_without_resources_of_its_own_gets_none(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    assert _pod(make_object, make_container).requests == {}


def test_a_pod_with_limits_asks_for_what_its_containers_do_or_else_for_its_limit(
    make_object: Callable[..., dict[str, Any]], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = _pod(make_object, make_container, limits={"cpu": "2", "memory": "3Gi"})
    assert _texts(pod.requests) == {"cpu": "1m", "memory": "1Gi", "hugepages-2Mi": "4Mi"}
    assert _texts(pod.limits) == {"cpu": "2", "memory": "3Gi", "hugepages-2Mi": "4Mi"}


@pytest.mark.parametrize(("minor", "huge"), [(32, {}), (33, {"hugepages-2Mi": "4Mi"})])
def test_huge_pages_of_pods_are_known_since_1_33(
    make_object: Callable[..., dict[str, Any]],
    make_container: Callable[..., dict[str, Any]],
    minor: int,
    huge: dict[str, str],
) -> None:
    pod = _pod(make_object, make_container, minor=minor, limits={"memory": "3Gi"})
    assert _texts(pod.limits) == {"memory": "3Gi", **huge}
