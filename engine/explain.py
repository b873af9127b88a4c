"""What a kubelet makes of pods, and why: QoS class, each value with its rule, and the CPU they get under load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.busy import cores_under_load
from engine.config import NodeConfig
from engine.knobs import KNOBS, Knob, hugetlb_knob
from engine.pod import Pod
from engine.qos import oom_score_rule, qos_rule
from engine.shares import shares_to_weight
from engine.wanted import WantedCgroup


@dataclass(frozen=True)
class Value:
    """One value of a cgroup: its files in both layouts, the unit of the numbers, and the rule it comes from."""

    field: str
    unit: str
    v1: Mapping[str, str]
    v2: Mapping[str, str]
    rule: str


def values_of(cgroup: WantedCgroup) -> list[Value]:
    """The values of a cgroup with their rules; values at the kernel's default and without a rule are left out."""
    values = []
    sizes = cgroup.limits.hugepages
    v1, v2 = ({knob.field: knob for knob in _every(version, sizes)} for version in (1, 2))
    for field, knob in {**v1, **v2}.items():
        rule = cgroup.rules.get(field)
        if rule is None:
            continue
        in_v1, in_v2 = (_files(knobs[field], cgroup) if field in knobs else {} for knobs in (v1, v2))
        if field == "shares" and in_v1:
            shares, weight = in_v1["cpu.shares"], in_v2["cpu.weight"]
            rule += f"; linear cpu.weight = 1 + (({shares} - 2) × 9999) / 262142 = {weight}"
            if cgroup.level == "container":
                rule += ", as runc 1.1.5 writes it; runc 1.3.6 and crun 1.28 have another rule"
        if in_v1 or in_v2:
            values.append(Value(field, knob.unit(), in_v1, in_v2, rule))
    return values


def _every(version: Literal[1, 2], sizes: Iterable[int]) -> tuple[Knob, ...]:
    return (*KNOBS[version], *(hugetlb_knob(version, size) for size in sizes))


def _files(knob: Knob, cgroup: WantedCgroup) -> dict[str, str]:
    setting = knob.setting(cgroup.limits)
    return {} if setting is None else dict(zip(knob.files, setting, strict=True))


def explanation(node: NodeConfig, wanted: Sequence[WantedCgroup], pod: Pod | None = None) -> dict[str, Any]:
    """Everything explained, as plain data; with ``pod`` that pod alone."""
    by_shares = cores_under_load(wanted, node.cpus)
    by_weight = cores_under_load(wanted, node.cpus, shares_to_weight)
    shown = [cgroup for cgroup in wanted if cgroup.level != "root" and (pod is None or cgroup.pod is pod)]
    tree: dict[str, Any] = {
        "node": {
            "kubelet_version": str(node.version),
            "driver": node.driver,
            "cpus": node.cpus,
            "memory_bytes": node.memory,
        },
        "cgroups": [],
        "pods": [],
    }
    pods: dict[str, dict[str, Any]] = {}
    for cgroup in shown:
        entry: dict[str, Any] = {"cgroup": cgroup.path, "values": [_as_data(value) for value in values_of(cgroup)]}
        if cgroup.path in by_shares:
            entry["cpu_cores_under_load"] = round(by_shares[cgroup.path], 3)
            entry["cpu_cores_under_load_v2"] = round(by_weight[cgroup.path], 3)
        if cgroup.pod is None:
            tree["cgroups"].append({"owner": cgroup.owner, **entry})
        elif cgroup.container is None:
            head: dict[str, Any] = {
                "pod": str(cgroup.pod),
                "uid": cgroup.pod.uid,
                "qos_class": cgroup.qos,
                "qos_rule": qos_rule(cgroup.pod, node.version),
            }
            pods[cgroup.pod.uid] = {**head, **entry, "containers": []}
            tree["pods"].append(pods[cgroup.pod.uid])
        else:
            rule = oom_score_rule(cgroup.pod, cgroup.container, node.memory, node.version)
            head = {"container": cgroup.container.name, "oom_score_adj": cgroup.oom_score_adj, "oom_rule": rule}
            pods[cgroup.pod.uid]["containers"].append({**head, **entry})
    return tree


def _as_data(value: Value) -> dict[str, Any]:
    return {
        "what": value.field,
        "unit": value.unit,
        "v1": dict(value.v1),
        "v2": dict(value.v2),
        "rule": value.rule,
    }
