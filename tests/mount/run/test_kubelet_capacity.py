"""A kubelet tells of the stated machine: its node's capacity, and the metrics of its cadvisor."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from fakecgroup_mount.vm.cache import cache_directory

from ..conftest import REPOSITORY, needs_root
from .conftest import Sandboxed, said

BUILT = cache_directory() / "cluster" / "bin" / "kubelet"  # by scripts/cluster build
KUBELET = shutil.which("kubelet") or str(BUILT)
NODE = REPOSITORY / "examples" / "kubelet" / "node"
NEEDED = (KUBELET, "containerd", "ctr", "runc", "busybox", "ip", "curl", "python3")
ELSEWHERE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "elsewhere"},
    "spec": {"nodeName": "another", "containers": [{"name": "main", "image": "none"}]},
}
ASK = """
for i in $(seq 300); do
    nodes=$(curl --silent http://localhost:8080/api/v1/nodes)
    case $nodes in *'"capacity"'*) break ;; esac; sleep 0.1
done
echo "$nodes"; curl --silent --insecure https://localhost:10250/metrics/cadvisor | grep ^machine_
"""


@needs_root  # or ranges of ids
@pytest.mark.timeout(300)
def test_a_kubelet_tells_of_the_stated_machine(sandboxed: Sandboxed, tmp_path: Path) -> None:
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        pytest.skip(f"no {missing[0]}")
    (tmp_path / "elsewhere.json").write_text(json.dumps(ELSEWHERE))
    (tmp_path / "ask").write_text(ASK)
    done = sandboxed(
        f"export PATH=$PATH:/usr/sbin:/sbin PODS='{tmp_path}' KUBELET='{KUBELET}'; '{NODE}' sh '{tmp_path}/ask'",
        timeout=250,
        cpus="64",
        memory="256Gi",
        swap="8Gi",
        hugepages="2Mi=64",
        **{"numa-nodes": "2"},
    )
    nodes, _, metrics = said(done).partition("\nmachine_")
    (node,) = json.loads(nodes)["items"]
    capacity = node["status"]["capacity"]
    assert {name: capacity[name] for name in ("cpu", "memory", "hugepages-2Mi")} == {
        "cpu": "64",
        "memory": "256Gi",
        "hugepages-2Mi": "128Mi",
    }
    assert node["status"]["nodeInfo"]["swap"]["capacity"] == 8 << 30
    values = {name: float(value) for name, value in re.findall(r"^(?:machine_)?(\w+){.*} (\S+)", metrics, re.M)}
    assert {name: values[name] for name in ("cpu_cores", "cpu_sockets", "memory_bytes", "swap_bytes")} == {
        "cpu_cores": 64,
        "cpu_sockets": 2,
        "memory_bytes": 256 << 30,
        "swap_bytes": 8 << 30,
    }
