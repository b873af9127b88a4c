"""What a Node says of its machine."""

from __future__ import annotations

from typing import Any

import pytest

from cgroup_engine.errors import NodeError
from cgroup_engine.fleet.node_object import node_of_object

from .conftest import node_object


def test_a_node_has_a_size_a_kubelet_and_a_runtime() -> None:
    seen = node_of_object(node_object(capacity={"hugepages-2Mi": "128Mi"}, info={"swap": {"capacity": 1 << 30}}))
    assert (seen.cpus, seen.memory, seen.max_pods, seen.version.minor) == (4, 8 << 30, 110, 34)
    assert (seen.runtime, str(seen.oci_runtime)) == ("containerd", "runc 1.3.0 of containerd 2.1.4")
    assert (seen.swap, seen.huge_pages) == (1 << 30, {2 << 20: 128 << 20})


@pytest.mark.parametrize("text", ["v1.31.4-eks-1552ad0", "v1.31.4-gke.1183000", "v1.31.4+k3s1", "1.31.0"])
def test_a_kubelet_of_a_vendor_is_that_release(text: str) -> None:
    assert node_of_object(node_object(info={"kubeletVersion": text})).version.minor == 31


@pytest.mark.parametrize(
    ("system", "version"),
    [
        ("Amazon Linux 2", 1),
        ("Amazon Linux 2023.6.20250115", 2),
        ("Ubuntu 20.04.6 LTS", 1),
        ("Ubuntu 24.04.1 LTS", 2),
        ("Red Hat Enterprise Linux 8.10 (Ootpa)", 1),
        ("Red Hat Enterprise Linux 9.4 (Plow)", 2),
        ("Rocky Linux 8.9 (Green Obsidian)", 1),
        ("Debian GNU/Linux 10 (buster)", 1),
        ("Debian GNU/Linux 13 (trixie)", 2),
        ("Container-Optimized OS from Google", 2),
        ("Bottlerocket OS 1.30.0 (aws-k8s-1.31)", 2),
        ("", 2),
    ],
)
def test_the_cgroup_version_follows_from_the_system(system: str, version: int) -> None:
    assert node_of_object(node_object(info={"osImage": system})).cgroup_version == version


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"info": {"kubeletVersion": "v1.12.0"}}, "kubelet version"),
        ({"info": {"kubeletVersion": None}}, "is no version"),
        ({"info": {"operatingSystem": "windows"}}, "runs Windows"),
        ({"capacity": {"memory": "much"}}, "status.capacity.memory"),
        ({"capacity": {"hugepages-x": "1"}}, "status.capacity.hugepages-x"),
    ],
)
def test_a_node_that_cannot_be_used_is_one_line(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(NodeError) as refused:
        node_of_object(node_object(**changes))
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("part", ["capacity", "nodeInfo"])
def test_a_node_without_a_part_of_its_status_is_refused(part: str) -> None:
    item = node_object()
    del item["status"][part]
    with pytest.raises(NodeError, match=f"status.{part} is missing"):
        node_of_object(item)
