"""A kubelet with containerd: the node in examples/kubelet (docs/guides/kubelet.md), with static pods, and with pods of
which simulated processes take the node's memory.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import plain_user
from ..program import Program, Step
from .cgroup_commands import by_layout, find_cgroups

_NODE = plain_user.REPOSITORY / "examples" / "kubelet"
_PACKAGES = next(
    iter(plain_user.REPOSITORY.glob(".venv/lib/python*/site-packages")), None
)  # pure Python, for any version
_STATUS = f"""PYTHONPATH={plain_user.REPOSITORY}/engine:{_PACKAGES} {sys.executable} \\
    -c 'import sys; from cgroup_engine.cli import main; sys.exit(main())' status \\
    --root /sys/fs/cgroup --config {_NODE / "kubelet.yaml"} pods.json"""
_POD = "pod0aa1a5e2-0b3f-4d0e-8f31-00000000000"
"""All of a pod's cgroup but for the last digit."""

_CROWD = Path(__file__).with_name("evicted_pod.py")
_NODE_OF_CROWD = Path(__file__).with_name("crowded_node.yaml")

_WAIT = 'wait_for() { for i in $(seq 300); do eval "$1" && return; sleep 0.1; done; echo "never: $1"; }'


def _version() -> str:
    """Such as 1.36.2, or ""."""
    kubelet = shutil.which("kubelet", path=plain_user.SEARCH_PATH)
    if kubelet is None:
        return ""
    done = subprocess.run([kubelet, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip().removeprefix("Kubernetes v")


def _steps(layout: str) -> Sequence[Step]:
    kubepods = by_layout(layout, "/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/memory/kubepods")
    limit = by_layout(layout, "memory.max", "memory.limit_in_bytes")
    burstable = f"{kubepods}/burstable/{_POD}2"
    return [
        Step(
            "kubelet --config kubelet.yaml",
            "its three static pods run",
            f"""{_WAIT}
            pods() {{ curl --silent localhost:10255/pods >pods.json; grep -o '"phase":"[A-Za-z]*"' pods.json; }}
            cd /run; wait_for '[ $(pods | grep -c Running) = 3 ]'; pods""",
            '"phase":"Running"\n' * 2 + '"phase":"Running"',
        ),
        Step(
            "cgroup-engine status",
            "each value that the kubelet wrote is as it is computed",
            f"""{_STATUS} >status; grep -c '^ok' status
            grep -E '^(drift|missing)' status | grep -vE '/[0-9a-f]{{64}}/'; :""",
            "[1-9][0-9]*",
            pattern=True,
        ),
        Step(
            "/metrics/resource",
            "CPU and memory that a busy container uses",
            """used() { curl --silent --insecure https://localhost:10250/metrics/resource |
                grep '^container_.*container="one"' | grep -E 'cpu_usage|working_set' | grep -vE ' 0( [0-9]*)?$'; }
            wait_for '[ $(used | wc -l) = 2 ]'; used | sed 's/{.*//'""",
            "container_cpu_usage_seconds_total\ncontainer_memory_working_set_bytes",
        ),
        Step(
            "(a static pod is given other limits)",
            "the files of pod and container hold them",
            f"""sed -i 's/memory: 128Mi/memory: 256Mi/' pods/burstable.yaml
            limits() {{ cat {burstable}/{limit} {burstable}/*/{limit} 2>/dev/null | sort -n | paste -sd' '; }}
            wait_for '[ "$(limits | grep -c "100663296 268435456 369098752")" = 1 ]'""",
            "",
        ),
        Step(
            "(a static pod is taken away)",
            "no cgroup of it is left",
            f"rm pods/guaranteed.yaml; wait_for '[ ! -e {kubepods}/{_POD}1 ]'; {find_cgroups(_POD + '1')}",
            "",
        ),
    ]


def _eviction(layout: str) -> Sequence[Step]:
    return [
        Step(
            "kubelet --config kubelet.yaml (evictionHard memory.available 100Mi)",
            "of three pods it evicts the one that grows beyond its request, soon after the threshold; then the "
            "pod's simulated processes and its cgroups are gone",
            f"{sys.executable} {_CROWD}",
            r"evicted: burstable\nalive: besteffort guaranteed\navailable again: True\n"
            r"(1?\d\.\d) s until it was evicted, .* s until its container was gone",
            pattern=True,
        ),
    ]


_NEEDS = ("kubelet", "containerd", "ctr", "runc", "busybox", "ip", "curl")
_ALSO = ("containerd", "runc", "busybox-static", "iproute2", "curl")

PROGRAMS = (
    Program(
        "kubelet",
        "",
        _NEEDS,
        _steps,
        also=_ALSO,
        inside=(str(_NODE / "node"),),
        options=(),
        missing=lambda: "" if _PACKAGES else "cgroup-engine is not set up here, as scripts/test does it",
        version=_version,
        many_users=True,
    ),
    Program(
        "kubelet-eviction",
        "",
        (*_NEEDS, "python3"),
        _eviction,
        layouts=("v2",),
        also=(*_ALSO, "python3-yaml"),
        inside=("env", f"PODS={_NODE / 'crowded'}", str(_NODE / "node")),
        options=("--workload", str(_NODE_OF_CROWD)),
        version=_version,
        many_users=True,
    ),
)
