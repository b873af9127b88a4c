"""The QoS class of pods whose spec.resources are empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgroup_engine.kubelet.qos import qos_class, qos_reason
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Pod


@pytest.mark.parametrize(
    ("minor", "expected"),
    [(31, "Burstable"), (33, "Burstable"), (34, "BestEffort"), (36, "BestEffort"), (37, "Burstable")],
)
@pytest.mark.parametrize("empty", [{}, {"requests": {}}, {"limits": {}, "requests": None}])
def test_empty_resources_of_a_pod_hide_those_of_its_containers_before_1_37(
    make_pod: Callable[..., Pod],
    make_container: Callable[..., dict[str, Any]],
    minor: int,
    expected: QosClass,
    empty: dict[str, Any],
) -> None:
    """ComputePodQOS of 1.36.2, compiled, says BestEffort; 1.34 has the same source. 1.37: change 137150."""
    version = KubeletVersion(minor)
    pod = make_pod(make_container(requests={"cpu": "1"}), minor=minor, resources=empty)
    assert qos_class(pod, version) == expected
    assert qos_reason(pod, version).why.startswith(
        f"ComputePodQOS: {'spec.resources has no' if expected == 'BestEffort' else 'its containers have a'} cpu"
    )


def test_without_spec_resources_nothing_is_hidden(
    make_pod: Callable[..., Pod], make_container: Callable[..., dict[str, Any]]
) -> None:
    pod = make_pod(make_container(requests={"cpu": "1"}), resources=None)
    assert qos_class(pod, KubeletVersion()) == "Burstable"
