"""One cgroup as it should be, and what the cgroups of all levels have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod

Level = Literal["root", "reserved", "system", "runtime", "node", "qos", "pod", "container"]
# a value of CgroupLimits: "shares", "quota", "memory", ..., and "hugepages-2Mi" for one size of huge pages
Field = str


@dataclass(frozen=True)
class WantedCgroup:
    """One cgroup.

    ``path`` is below the cgroup root (v1: below each hierarchy). ``rules`` says where each value comes from. Of a
    ``reserved`` cgroup, which the operator makes, only the values that are set are managed; of a ``root`` cgroup
    (cgroupRoot and what is above it), a ``system`` one (systemCgroups, kubeletCgroups) and a ``runtime`` one (where
    misplaced containers lie) none. Everywhere else a value that is not set is the kernel's default.
    """

    path: str
    level: Level
    owner: str
    limits: CgroupLimits = field(default_factory=CgroupLimits)
    rules: Mapping[Field, str] = field(default_factory=dict)
    qos: QosClass | None = None
    pod: Pod | None = None
    container: Container | None = None
    oom_score_adj: int | None = None

    @property
    def parent(self) -> str:
        """The path of the parent; "" is the root."""
        return self.path.rpartition("/")[0]


def is_sandbox(cgroup: WantedCgroup) -> bool:
    """Is it the cgroup of a pod's sandbox, of which the kubelet says nothing?"""
    return cgroup.container is not None and cgroup.container not in (cgroup.pod.with_cgroup if cgroup.pod else ())


def written(limits: CgroupLimits, version: KubeletVersion) -> CgroupLimits:
    """What libcontainer writes of a ResourceConfig: a zero is taken for "not set".

    But for pids: since kubelet 1.36 (opencontainers/cgroups 0.0.6) no tasks are written as one.
    """
    pids = 1 if limits.pids == 0 and version.at_least(36) else limits.pids or None
    if pids == limits.pids and limits.quota_us != 0 and limits.memory != 0:
        return limits
    return replace(limits, quota_us=limits.quota_us or None, memory=limits.memory or None, pids=pids)


def shares_rule(what: str, milli: int, shares: int | None) -> str:
    """Why a cgroup has its shares, with the numbers filled in."""
    raw = milli * 1024 // 1000
    bound = "" if raw == shares else f", bounded to {shares}"
    return f"{what}: MilliCPUToShares({milli}m) = {milli} × 1024 / 1000 = {raw} shares{bound}"
