"""What a kubelet makes of pods, and why: QoS class, each value with its rule, and the CPU they get under load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cgroup_engine.kubelet.cpu_weight import explained, formula_of
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import oom_score_rule, qos_rule
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup, is_sandbox
from cgroup_engine.tree.knobs import Knob, knobs_for
from cgroup_engine.views.busy import cores_under_load
from cgroup_engine.views.citations import (
    OOM_SCORE_ADJ,
    QOS_CLASS,
    Citation,
    Inputs,
    citation,
    inputs_of,
    inputs_of_oom_score,
)

_VERSIONS: tuple[Literal[1, 2], ...] = (1, 2)


@dataclass(frozen=True)
class Value:
    """One value of a cgroup: its files in both layouts, the unit of the numbers, and the rule it comes from.

    ``source`` is the kubelet's function with that rule, and ``inputs`` what of pods and node goes into it.
    """

    field: str
    unit: str
    v1: Mapping[str, str]
    v2: Mapping[str, str]
    rule: str
    source: Citation
    inputs: Inputs


def values_of(cgroup: WantedCgroup, node: NodeConfig, pods: Sequence[Pod]) -> list[Value]:
    """The values of a cgroup with their rules; values at the kernel's default and without a rule are left out.

    ``pods``: all pods of the node, which the values of QoS classes come from.
    """
    values = []
    v1, v2 = ({_shown(knob): knob for knob in knobs_for(version, cgroup.limits)} for version in _VERSIONS)
    for field, knob in {**v1, **v2}.items():
        rule = cgroup.rules.get(field)
        if rule is None:
            continue
        in_v1, in_v2 = (_files(knobs[field], cgroup) if field in knobs else {} for knobs in (v1, v2))
        if field == "shares" and in_v1:
            formula = formula_of(cgroup.level, node.weight_formulas, node.version, node.runtime)
            rule += f"; {explained(cgroup.limits.shares or 0, formula)}"
            if cgroup.level == "container":
                newer = "since 1.3.2 and crun since 1.23"
                rule += f", as runc {newer if formula == 'quadratic' else 'before 1.3.2 and crun before 1.23'} write it"
        if in_v1 or in_v2:
            inputs = inputs_of(cgroup, field, node, pods)
            values.append(Value(field, knob.unit(), in_v1, in_v2, rule, citation(cgroup, field), inputs))
    return values


def _shown(knob: Knob) -> str:
    """v1's memory limit with and without swap is one value for people."""
    return "memory" if knob.field == "memory_and_swap" else knob.field


def _files(knob: Knob, cgroup: WantedCgroup) -> dict[str, str]:
    setting = knob.setting(cgroup.limits)
    return {} if setting is None else dict(zip(knob.files, setting, strict=True))


def explanation(node: NodeConfig, wanted: Sequence[WantedCgroup], pod: Pod | None = None) -> dict[str, Any]:
    """Everything explained, as plain data; with ``pod`` that pod alone."""
    by_shares = cores_under_load(wanted, node.cpus)
    by_weight = cores_under_load(wanted, node.cpus, lambda limits: limits.weight or 1)
    shown = [cgroup for cgroup in wanted if cgroup.level != "root" and (pod is None or cgroup.pod is pod)]
    all_pods = pods_of(wanted)
    tree: dict[str, Any] = {
        "node": {
            **node_data(node),
            "allocatable": {name: str(amount) for name, amount in node.allocatable.items()},
            "reported_allocatable": {name: str(amount) for name, amount in node.reported.items()},
        },
        "cgroups": [],
        "pods": [],
    }
    pods: dict[str, dict[str, Any]] = {}
    for cgroup in shown:
        entry: dict[str, Any] = {
            "cgroup": cgroup.path,
            "values": [value_data(value, node) for value in values_of(cgroup, node, all_pods)],
        }
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
                "qos_source": _source(QOS_CLASS, node),
            }
            pods[cgroup.pod.uid] = {**head, **entry, "containers": []}
            tree["pods"].append(pods[cgroup.pod.uid])
        else:
            rule = cgroup.rules.get("oom_score_adj") or oom_score_rule(
                cgroup.pod, cgroup.container, node.memory, node.version
            )
            head = {"container": cgroup.container.name, "oom_score_adj": cgroup.oom_score_adj, "oom_rule": rule}
            if not is_sandbox(cgroup):
                head["oom_source"] = _source(OOM_SCORE_ADJ, node)
                head["oom_inputs"] = inputs_of_oom_score(cgroup.container, node)
            pods[cgroup.pod.uid]["containers"].append({**head, **entry})
    return tree


def pods_of(wanted: Sequence[WantedCgroup]) -> list[Pod]:
    """The pods of a wanted tree."""
    return [cgroup.pod for cgroup in wanted if cgroup.level == "pod" and cgroup.pod is not None]


def node_data(node: NodeConfig) -> dict[str, Any]:
    """Which kubelet and which node, as plain data."""
    return {
        "kubelet_version": str(node.version),
        "driver": node.driver,
        "cpus": node.cpus,
        "memory_bytes": node.memory,
    }


def value_data(value: Value, node: NodeConfig) -> dict[str, Any]:
    """A value as plain data."""
    return {
        "what": value.field,
        "unit": value.unit,
        "v1": dict(value.v1),
        "v2": dict(value.v2),
        "rule": value.rule,
        "inputs": value.inputs,
        "source": _source(value.source, node),
    }


def _source(source: Citation, node: NodeConfig) -> dict[str, str]:
    return {"function": source.function, "file": source.file, "kubelet": str(node.version)}
