"""One cgroup as it should be, and the rules that all levels share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Literal

from cgroup_engine.model.hugepages import resource_of_page_size
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.reason import Citation, Inputs, Reason
from cgroup_engine.model.value import value

Level = Literal["root", "reserved", "system", "runtime", "node", "qos", "pod", "container"]
# a value of CgroupLimits: "shares", "quota", "memory", ..., and "hugepages-2Mi" for one size of huge pages
Field = str
Reasons = dict[Field, Reason]


@value(frozen=True, slots=True)
class WantedCgroup:
    """One cgroup.

    ``path`` is below the cgroup root (v1: below each hierarchy). ``reasons`` says why it has each value. ``also``: the
    values that a kubelet may have given it instead, while its pod is resized.

    The level decides which values the engine manages. ``reserved`` cgroups are the operator's: only the values that
    are set. ``root`` (cgroupRoot and its ancestors), ``system`` (systemCgroups, kubeletCgroups) and ``runtime`` (the
    parents of misplaced containers): none. All others: every value, and one that is not set is the kernel's default.
    """

    path: str
    level: Level
    owner: str
    limits: CgroupLimits = field(default_factory=CgroupLimits)
    reasons: Mapping[Field, Reason] = field(default_factory=dict, compare=False)
    qos: QosClass | None = None
    pod: Pod | None = None
    container: Container | None = None
    oom_score_adj: int | None = None
    also: CgroupLimits | None = None

    @property
    def parent(self) -> str:
        """The path of the parent; "" is the root."""
        return self.path.rpartition("/")[0]

    @property
    def is_pod_sandbox(self) -> bool:
        """Is it the cgroup of a pod's sandbox (pause container)? The runtime chooses its values, not the kubelet."""
        return self.container is not None and self.container not in (self.pod.with_cgroup if self.pod else ())

    def why(self, field: Field) -> str:
        """Why the cgroup has a value, in words."""
        return self.reasons[field].why if field in self.reasons else "the kernel's default"


def written(limits: CgroupLimits, version: KubeletVersion) -> CgroupLimits:
    """The values that libcontainer writes for a ResourceConfig. It reads zero as "not set"; see ``written_pids``.

    It limits the reservations of huge pages too since kubelet 1.29 (runc 1.1.10, change 121739).
    """
    pids, reservations = written_pids(limits.pids, version), version.at_least(29)
    if (
        pids == limits.pids
        and limits.quota_us != 0
        and limits.memory != 0
        and reservations == limits.hugepage_reservations
    ):
        return limits
    return replace(
        limits,
        quota_us=limits.quota_us or None,
        memory=limits.memory or None,
        pids=pids,
        hugepage_reservations=reservations,
    )


def written_pids(pids: int | None, version: KubeletVersion) -> int | None:
    """The pids limit that libcontainer writes; since kubelet 1.36 (opencontainers/cgroups 0.0.6) it writes 1 for 0."""
    return 1 if pids == 0 and version.at_least(36) else pids or None


def protection_reasons(
    limits: CgroupLimits, asked: str, none: str, source: Citation, inputs: Callable[[], Inputs]
) -> Reasons:
    """The reasons of memory.min and memory.low, if they are given; ``asked``: where the bytes come from."""
    given = {"memory_min": limits.memory_min, "memory_low": limits.memory_low}
    return {
        name: Reason(f"{asked} = {number} bytes" if number else none, source, inputs)
        for name, number in given.items()
        if number is not None
    }


def hugepage_reasons(
    pages: Mapping[int, int], asked: str, none: str, source: Citation, inputs: Callable[[str], Callable[[], Inputs]]
) -> Reasons:
    """The reason of each huge page limit (bytes of a page -> bytes); ``inputs`` finds those of a resource."""
    numbers = {resource_of_page_size(page): number for page, number in pages.items()}
    return {
        name: Reason(f"{asked} {name} = {number} bytes" if number else none, source, inputs(name))
        for name, number in numbers.items()
    }
