"""What keeps a kubelet from starting on cgroup v1.

Sources: validateKubeletOSConfiguration of ``pkg/kubelet/apis/config/validation/validation_linux.go``, and ``run`` of
``cmd/kubelet/app/server.go`` (LimitedSwap, since 1.28).
"""

from __future__ import annotations

from cgroup_engine.kubelet.node import NodeConfig


def refused_on_v1(node: NodeConfig) -> list[str]:
    """Why the kubelet of this node does not start on cgroup v1, with what to do; none if it does.

    failCgroupV1 is true by default since 1.35.
    """
    reasons = []
    if node.fail_cgroup_v1:
        reasons.append(f"a kubelet {node.version} does not start on cgroup v1 unless failCgroupV1 is false")
    if node.single_process_oom_kill is False and node.version.at_least(32):
        reasons.append(f"a kubelet {node.version} does not start on cgroup v1 with singleProcessOOMKill: false")
    limited = node.swap_behavior == "LimitedSwap" and node.version.enabled("NodeSwap")
    if limited and node.version.at_least(28):
        reasons.append(f"a kubelet {node.version} does not start on cgroup v1 with LimitedSwap")
    return reasons
