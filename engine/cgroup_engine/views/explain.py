"""Explains the cgroups of pods: QoS class, each value with its rule, and their CPU under load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from cgroup_engine.kubelet.allocation import allocation_note
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.qos import qos_reason
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.reason import Citation, Inputs
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.tree.knobs import Knob, knobs_for
from cgroup_engine.views.cpu_under_load import cores_under_load
from cgroup_engine.views.fit import Misfit

_VERSIONS: tuple[Literal[1, 2], ...] = (1, 2)


@dataclass(slots=True)  # not frozen: a comparison makes one for each value of a node
class Value:
    """One value of a cgroup: its files in both layouts, the unit of the numbers, and its rule.

    ``source``: the kubelet's function with that rule. ``find_inputs`` collects the fields that the rule read.
    """

    field: str
    unit: str
    v1: Mapping[str, str]
    v2: Mapping[str, str]
    rule: str
    source: Citation
    find_inputs: Callable[[], Inputs]

    def of(self, version: int) -> Mapping[str, str]:
        """Its files in one layout."""
        return self.v1 if version == 1 else self.v2

    @property
    def inputs(self) -> Inputs:
        """The fields of pods and node that the rule read."""
        return self.find_inputs()


def values_of(cgroup: WantedCgroup, only: Literal[1, 2] | None = None) -> list[Value]:
    """The values of a cgroup with their reasons, without those at the kernel's default; ``only``: of one version."""
    values = []
    v1, v2 = (
        {_shown(knob): knob for knob in knobs_for(version, cgroup.limits)} if only in (None, version) else {}
        for version in _VERSIONS
    )
    for field, knob in {**v1, **v2}.items():
        reason = cgroup.reasons.get(field)
        if reason is None:
            continue
        in_v1, in_v2 = (_files(knobs[field], cgroup) if field in knobs else {} for knobs in (v1, v2))
        if in_v1 or in_v2:
            why = reason.why
            if field == "shares" and "weight" in cgroup.reasons:
                why += f"; {cgroup.why('weight')}"
            values.append(Value(field, knob.unit(), in_v1, in_v2, why, reason.source, reason.find_inputs))
    return values


def _shown(knob: Knob) -> str:
    """The name of a knob's value; v1's memory limits with and without swap are one value."""
    return "memory" if knob.field == "memory_and_swap" else knob.field


def _files(knob: Knob, cgroup: WantedCgroup) -> dict[str, str]:
    setting = knob.setting(cgroup.limits)
    return {} if setting is None else dict(zip(knob.files, setting, strict=True))


def explanation(
    node: NodeConfig, wanted: Sequence[WantedCgroup], pod: Pod | None = None, unfit: Sequence[Misfit] = ()
) -> dict[str, Any]:
    """The explanation of all cgroups as plain data; ``pod``: of that pod alone. ``unfit``: what the node has not."""
    data = explained(node, wanted, pod, unfit)
    return {**data, "pods": list(data["pods"])}


def explained(
    node: NodeConfig, wanted: Sequence[WantedCgroup], pod: Pod | None = None, unfit: Sequence[Misfit] = ()
) -> dict[str, Any]:
    """``explanation`` with an iterator of the pods, which explains each when it is asked for."""
    by_shares = cores_under_load(wanted, node.cpus)
    by_weight = cores_under_load(wanted, node.cpus, lambda limits: limits.weight or 1)

    def entry(cgroup: WantedCgroup) -> dict[str, Any]:
        data: dict[str, Any] = {
            "cgroup": cgroup.path,
            "values": [value_data(value, node) for value in values_of(cgroup)],
        }
        if cgroup.path in by_shares:
            data["cpu_cores_under_load"] = round(by_shares[cgroup.path], 3)
            data["cpu_cores_under_load_v2"] = round(by_weight[cgroup.path], 3)
        return data

    def pods() -> Iterator[dict[str, Any]]:
        of_pods = (cgroup for cgroup in wanted if cgroup.pod is not None and (pod is None or cgroup.pod is pod))
        for _, cgroups in groupby(of_pods, lambda cgroup: id(cgroup.pod)):
            own, *containers = cgroups
            listed = [{**_head_of_container(cgroup, node), **entry(cgroup)} for cgroup in containers]
            yield {**_head_of_pod(own, node), **entry(own), "containers": listed}

    above = [cgroup for cgroup in wanted if pod is None and cgroup.pod is None and cgroup.level != "root"]
    return {
        "node": {
            **node_data(node),
            "allocatable": {name: str(amount) for name, amount in node.allocatable.items()},
            "reported_allocatable": {name: str(amount) for name, amount in node.reported.items()},
        },
        "unfit": [misfit.data() for misfit in unfit],
        "cgroups": [{"owner": cgroup.owner, **entry(cgroup)} for cgroup in above],
        "pods": pods(),
    }


def _head_of_pod(cgroup: WantedCgroup, node: NodeConfig) -> dict[str, Any]:
    pod = cgroup.pod
    assert pod is not None
    qos = qos_reason(pod, node.version)
    head: dict[str, Any] = {
        "pod": str(pod),
        "uid": pod.uid,
        "qos_class": cgroup.qos,
        "qos_rule": qos.why,
        "qos_source": _source(qos.source, node),
    }
    if note := allocation_note(pod):
        head["resize"] = note
    return head


def _head_of_container(cgroup: WantedCgroup, node: NodeConfig) -> dict[str, Any]:
    container = cgroup.container
    assert container is not None
    score = cgroup.reasons["oom_score_adj"]
    head: dict[str, Any] = {"container": container.name, "oom_score_adj": cgroup.oom_score_adj, "oom_rule": score.why}
    if not cgroup.is_pod_sandbox:
        head["oom_source"] = _source(score.source, node)
        head["oom_inputs"] = score.inputs
    return head


def node_data(node: NodeConfig) -> dict[str, Any]:
    """The kubelet and the node, as plain data."""
    return {
        "kubelet_version": str(node.version),
        "driver": node.driver,
        "cpus": node.cpus,
        "memory_bytes": node.memory,
        "cgroup_version": node.cgroup_version,
        "runtime": str(node.used_oci_runtime),
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
