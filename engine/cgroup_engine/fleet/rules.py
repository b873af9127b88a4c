"""The rules by which a node is looked at. Each has an id, which stays the same from release to release."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cgroup_engine.errors import ConfigError
from cgroup_engine.fleet.finding import Finding
from cgroup_engine.kubelet.cgroup_v1 import refused_on_v1
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.views.cpu_under_load import cores_under_load
from cgroup_engine.views.difference import changes_between
from cgroup_engine.views.findings import findings as grouped
from cgroup_engine.views.findings import shown
from cgroup_engine.views.fit import misfits

CPU_CHANGE = 0.05
"""The part of its CPU time under load that a pod may gain or lose without a finding."""

Usage = Mapping[tuple[str, str, str], int]
"""Bytes that containers use, by namespace, pod and container."""


@dataclass(frozen=True)
class Side:
    """A node as it is configured, with its pods and the wanted tree."""

    node: NodeConfig
    pods: Sequence[Pod]
    wanted: Sequence[WantedCgroup]


@dataclass(frozen=True)
class Looked:
    """What the rules look at: a node now, and after the change if there is one."""

    name: str
    now: Side
    then: Side | None = None
    usage: Usage = field(default_factory=dict)
    reported: Mapping[str, int] = field(default_factory=dict)

    @property
    def last(self) -> Side:
        """The node after the change, else as it is."""
        return self.then or self.now


Rule = Callable[[Looked], Iterator[Finding]]

WOULD_NOT_START = {
    "feature-gate": "a kubelet would not start: a feature gate is unknown, removed or locked",
    "swap": "a kubelet would not start: the machine has swap, or a swap setting is refused",
    "reserved": "a kubelet would not start: more is reserved than there is",
    "cgroup-v1": "a kubelet would not start on cgroup v1",
    "would-not-start": "a kubelet would not start: another field of its configuration is refused",
}
"""The rules for a kubelet that does not start."""

OTHERS = {
    "over-allocatable-cpu": "pods request more CPU than is allocatable: a kubelet rejects some (OutOfcpu)",
    "over-allocatable-memory": "pods request more memory than is allocatable: a kubelet rejects some (OutOfmemory)",
    "over-allocatable-pods": "there are more pods than the node takes (OutOfpods)",
    "over-allocatable-memory-min": "memory.min protects nearly all of the node's memory",
    "allocatable-cpu-falls": "less CPU is allocatable after the change",
    "allocatable-memory-falls": "less memory is allocatable after the change: reservations and eviction take more",
    "reported-cpu-differs": "the kubelet reports another allocatable CPU than this configuration gives",
    "reported-memory-differs": "the kubelet reports another allocatable memory than this configuration gives",
    "memory-max-below-use": "memory.max is below what a container uses now: it would be killed",
    "memory-high-below-use": "memory.high is below what a container uses now: it would be slowed down",
    "cpu-under-load-falls": "a pod gets less CPU when every container is busy, by more than 5 %",
    "cpu-under-load-rises": "a pod gets more CPU when every container is busy, by more than 5 %",
    "cpu-manager-policy-changes": "a kubelet refuses the old cpu_manager_state: drain, and delete it",
    "memory-manager-policy-changes": "a kubelet refuses the old memory_manager_state: drain, and delete it",
}
"""All other rules but those of values, such as `container-memory.high-appears`, whose ids say it."""


def text_of_rule(rule: str) -> str:
    """What a rule means; "" for a rule of a value, and for huge pages."""
    return WOULD_NOT_START.get(rule) or OTHERS.get(rule, "")


_REFUSED = (
    ("feature-gate", re.compile(r"featureGates|feature gate", re.IGNORECASE)),
    ("swap", re.compile(r"failSwapOn|memorySwap|swapBehavior|LimitedSwap")),
    ("reserved", re.compile(r"[rR]eserved")),
)


def would_not_start(error: ConfigError) -> Finding:
    """The finding for a configuration with which a kubelet does not start."""
    text = str(error)
    rule = next((name for name, pattern in _REFUSED if pattern.search(text)), "would-not-start")
    return Finding(rule, "restart", reasons=Counter([text]))


def refused_by_v1(node: NodeConfig) -> Iterator[Finding]:
    """A kubelet that does not start on cgroup v1."""
    reasons = refused_on_v1(node) if node.cgroup_version == 1 else []
    if reasons:
        yield Finding("cgroup-v1", "restart", reasons=Counter(reasons))


def requests_over_allocatable(looked: Looked) -> Iterator[Finding]:
    """More is requested than is allocatable, too many pods, or memory.min protects nearly all."""
    side = looked.last
    for misfit in misfits(side.node, side.pods, side.wanted):
        worst = (misfit.asked / max(1, misfit.room), str(misfit.room), str(misfit.asked), looked.name)
        what = misfit.what.replace("memory.min", "memory-min")
        yield Finding(f"over-allocatable-{what}", "new-pod", pods=len(side.pods), worst=worst)


def allocatable_falls(looked: Looked) -> Iterator[Finding]:
    """Less is allocatable after the change: reservations and eviction take more."""
    if looked.then is None:
        return
    for name in ("cpu", "memory"):
        before, after = (_reported(side.node, name) for side in (looked.now, looked.then))
        if after < before:
            amounts = [
                shown(each / 1000, "quota") if name == "cpu" else shown(each, "memory") for each in (before, after)
            ]
            worst = (before / max(1, after), *amounts, looked.name)
            yield Finding(f"allocatable-{name}-falls", "restart", worst=worst)  # type: ignore[arg-type]


def allocatable_is_another(looked: Looked) -> Iterator[Finding]:
    """The kubelet reports another allocatable amount than the configuration gives: it runs with another one."""
    for name, there in looked.reported.items():
        ours = _reported(looked.now.node, name)
        if ours != there:
            by = abs(math.log(max(1, there) / max(1, ours)))
            worst = (by, _amount(ours, name), _amount(there, name), looked.name)
            yield Finding(f"reported-{name}-differs", "restart", worst=worst)


def limits_below_use(looked: Looked) -> Iterator[Finding]:
    """memory.max or memory.high is below what a container uses now."""
    side = looked.last
    found: dict[str, list[tuple[float, str, str, str]]] = {}
    for cgroup in side.wanted:
        if cgroup.container is None or cgroup.pod is None or cgroup.is_pod_sandbox:
            continue
        used = looked.usage.get((cgroup.pod.namespace, cgroup.pod.name, cgroup.container.name))
        if used is None:
            continue
        limits = [("memory-max", cgroup.limits.memory)]
        if side.node.cgroup_version == 2:
            limits.append(("memory-high", cgroup.limits.memory_high))
        for name, limit in limits:
            if limit is not None and 0 < limit < used:
                texts = shown(used, "memory"), shown(limit, "memory"), cgroup.owner
                found.setdefault(name, []).append((used / limit, *texts))
    for name, worst in found.items():
        pods = len({each[3].rpartition("/")[0] or each[3] for each in worst})
        finding = Finding(f"{name}-below-use", "new-container", pods=pods, containers=len(worst), worst=max(worst))
        yield finding


def changed_values(looked: Looked) -> Iterator[Finding]:
    """Each kind of value that the change changes: a rule of its own for level, file and direction."""
    if looked.then is None:
        return
    sides = (looked.now.node, looked.now.wanted), (looked.then.node, looked.then.wanted)
    changes = list(changes_between(*sides, used=True))
    for one in grouped(changes, looked.then.node.cgroup_version):
        tightest, worst = one.get("tightest"), one.get("worst")
        yield Finding(
            rule_of(one),
            one["takes_effect"],
            pods=one["pods"],
            containers=one["cgroups"] if one["level"] == "container" else 0,
            tightest=None if tightest is None else (tightest["amount"], tightest["value"], tightest["for"]),
            worst=None if worst is None else (worst["by"], worst["from"], worst["to"], worst["for"]),
        )


def rule_of(finding: Mapping[str, Any]) -> str:
    """The id of a rule about a value: `container-memory.high-appears`."""
    return re.sub(r"[^a-z0-9.]+", "-", str(finding["rule"]).lower()).strip("-")


def cpu_under_load(looked: Looked) -> Iterator[Finding]:
    """A pod gets more or less of the CPUs when every container is busy, by more than 5 %."""
    if looked.then is None:
        return
    sides = [_cores(side) for side in (looked.now, looked.then)]
    lost: list[tuple[float, str, str, str]] = []
    gained: list[tuple[float, str, str, str]] = []
    for uid, (owner, before) in sides[0].items():
        after = sides[1].get(uid, (owner, before))[1]
        if before > 0 and abs(after / before - 1) > CPU_CHANGE:
            by = abs(math.log(max(after, 1e-9) / before))
            (lost if after < before else gained).append((by, f"{before:.3f}", f"{after:.3f}", owner))
    for rule, those in (("cpu-under-load-falls", lost), ("cpu-under-load-rises", gained)):
        if those:
            yield Finding(rule, "restart", pods=len(those), worst=max(those))


def cpu_manager_changes(looked: Looked) -> Iterator[Finding]:
    """The policy of the CPU or memory manager changes: a kubelet refuses the old state file, so drain and delete it."""
    if looked.then is None:
        return
    for rule, name in (
        ("cpu-manager-policy", "cpu_manager_policy"),
        ("memory-manager-policy", "memory_manager_policy"),
    ):
        before, after = (str(getattr(side.node, name)) for side in (looked.now, looked.then))
        if before != after:
            yield Finding(f"{rule}-changes", "new-container", worst=(1.0, before, after, looked.name))


RULES: tuple[Rule, ...] = (
    requests_over_allocatable,
    allocatable_falls,
    allocatable_is_another,
    limits_below_use,
    changed_values,
    cpu_under_load,
    cpu_manager_changes,
)


def _amount(amount: int, name: str) -> str:
    """Millicores, or bytes, for people."""
    return shown(amount / 1000, "quota") if name == "cpu" else shown(amount, "memory")


def _reported(node: NodeConfig, name: str) -> int:
    """Bytes, or millicores."""
    amount = node.reported.get(name)
    if amount is None:
        return 0
    return amount.milli_value() if name == "cpu" else amount.value()


def _cores(side: Side) -> dict[str, tuple[str, float]]:
    """The pods' CPUs under load, by uid."""
    if side.node.cgroup_version == 2:
        cores = cores_under_load(side.wanted, side.node.cpus, lambda limits: limits.weight or 1)
    else:
        cores = cores_under_load(side.wanted, side.node.cpus)
    return {
        cgroup.pod.uid: (cgroup.owner, cores[cgroup.path])
        for cgroup in side.wanted
        if cgroup.level == "pod" and cgroup.pod is not None and cgroup.path in cores
    }
