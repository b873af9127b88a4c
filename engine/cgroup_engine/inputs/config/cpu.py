"""CPU: the quota, its period, and the CPU manager."""

from __future__ import annotations

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.duration import duration_ns
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.kubelet.node import CpuManagerPolicy, TopologyManagerScope
from cgroup_engine.model.limits import DEFAULT_PERIOD_US, CfsQuota


def cfs_quota(config: ConfigFields) -> CfsQuota:
    """cpuCFSQuota and cpuCFSQuotaPeriod.

    A period other than 100ms needs the gate CustomCPUCFSQuotaPeriod (alpha until 1.35, on in 1.36). It lies between
    1ms and 1s (before 1.26: 1µs and 1s).
    """
    text = config.text("cpuCFSQuotaPeriod", "100ms")
    period_ns = duration_ns(text)
    if period_ns is None:
        raise config.error("cpuCFSQuotaPeriod", f"{quoted(text)} is not a duration", 'write one such as "100ms"')
    if period_ns != DEFAULT_PERIOD_US * 1000 and not config.version.enabled("CustomCPUCFSQuotaPeriod"):
        config.refuse(
            "cpuCFSQuotaPeriod",
            f"{text} is refused by kubelet {config.version}",
            "set featureGates.CustomCPUCFSQuotaPeriod: true or use 100ms",
            text,
        )
    shortest, least = (10**6, "1ms") if config.version.at_least(26) else (10**3, "1µs")
    if not shortest <= period_ns <= 10**9:
        raise config.error("cpuCFSQuotaPeriod", f"{text} is not within {least} to 1s", "correct it", text)
    return CfsQuota(config.flag("cpuCFSQuota", True), period_ns // 1000)


def cpu_manager_policy(config: ConfigFields) -> CpuManagerPolicy:
    policy = config.text("cpuManagerPolicy", "")
    if policy not in ("", "none", "static"):
        raise config.error("cpuManagerPolicy", f"{quoted(policy)} is not known", "use none or static", policy)
    return "static" if policy == "static" else "none"


def topology_manager_scope(config: ConfigFields) -> TopologyManagerScope:
    """topologyManagerScope, which has no effect under topologyManagerPolicy none (NewManager)."""
    policy, scope = config.text("topologyManagerPolicy", ""), config.text("topologyManagerScope", "")
    if policy not in ("", "none", "best-effort", "restricted", "single-numa-node"):
        todo = "use none, best-effort, restricted or single-numa-node"
        raise config.error("topologyManagerPolicy", f"{quoted(policy)} is not known", todo, policy)
    if scope not in ("", "container", "pod"):
        raise config.error("topologyManagerScope", f"{quoted(scope)} is not known", "use container or pod", scope)
    return "pod" if scope == "pod" and policy not in ("", "none") else "container"
