"""Looks at one node."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cgroup_engine.errors import ConfigError, NodeError, PodError, QuantityError
from cgroup_engine.fleet.change import NO_CHANGE, Change, Fields, configured
from cgroup_engine.fleet.finding import Finding
from cgroup_engine.fleet.node_object import SeenNode, node_of_object
from cgroup_engine.fleet.rules import RULES, Looked, Side, Usage, refused_by_v1, would_not_start
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import parse as parse_quantity


@dataclass(frozen=True)
class Task:
    """One node to look at: its object, its configuration, its pods as JSON. It travels between processes.

    `cgroup_version` overrides what the node's system says.
    """

    node: Mapping[str, Any]
    fields: Fields
    where: str
    pods: Sequence[bytes]
    change: Change = NO_CHANGE
    usage: Usage = field(default_factory=dict)
    cgroup_version: Literal[1, 2] | None = None


@dataclass
class Result:
    """What was found on one node. `error` is why it could not be looked at, "" if it was."""

    name: str
    findings: list[Finding] = field(default_factory=list)
    error: str = ""
    errors: list[str] = field(default_factory=list)
    pods: int = 0
    containers: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)


def evaluate(task: Task) -> Result:
    """Looks at a node by all rules. What cannot be used is told in the result."""
    name = str(task.node["metadata"]["name"])
    result = Result(name)
    try:
        seen = node_of_object(task.node)
    except NodeError as error:
        result.error = str(error)
        return result
    if task.cgroup_version is not None:
        seen = replace(seen, cgroup_version=task.cgroup_version)
    result.facts = _facts(seen)
    sides: list[Side | None] = []
    for change in (NO_CHANGE, task.change) if task.change else (NO_CHANGE,):
        last = change is task.change or not task.change
        try:
            node = configured(seen, task.fields, task.where, change)
        except ConfigError as refused:
            if last:
                result.findings.append(would_not_start(refused))
            sides.append(None)
            continue
        if last:
            result.findings += refused_by_v1(node)
        if sides and sides[0] is not None and sides[0].node.version == node.version:
            pods = sides[0].pods
        else:
            pods = _pods(task, node.version, result if not sides else None)
        sides.append(Side(node, pods, wanted_tree(node, pods)))
    first = next((side for side in sides if side is not None), None)
    if first is None:
        return result
    result.pods = sum(not pod.ended for pod in first.pods)
    result.containers = sum(len(pod.with_cgroup) for pod in first.pods if not pod.ended)
    if sides[-1] is None:
        return result
    now = sides[0] or sides[-1]
    looked = Looked(name, now, sides[-1] if len(sides) > 1 else None, task.usage, _reported(task.node))
    for rule in RULES:
        result.findings += rule(looked)
    result.findings = [finding.of_node(name) for finding in result.findings]
    return result


def _pods(task: Task, version: KubeletVersion, result: Result | None) -> list[Pod]:
    """The pods that can be used; each other one is a line in `result`."""
    pods: list[Pod] = []
    uids: set[str] = set()
    for data in task.pods:
        item = json.loads(data)
        where = item.pop("where", "")
        try:
            pod = pod_from_object(item, where, version)
            if pod.uid in uids:
                raise PodError(f"{where}: pod {pod}: its metadata.uid is also that of another pod of the node")
        except PodError as error:
            if result is not None:
                result.errors.append(str(error))
            continue
        uids.add(pod.uid)
        pods.append(pod)
    return pods


def _facts(seen: SeenNode) -> dict[str, str]:
    return {
        "kubelet": f"1.{seen.version.minor}",
        "runtime": seen.runtime,
        "cgroups": f"v{seen.cgroup_version}",
        "system": seen.system,
    }


def _reported(node: Mapping[str, Any]) -> dict[str, int]:
    """What the node's kubelet says is allocatable: millicores and bytes."""
    allocatable = node["status"].get("allocatable")
    found = {}
    for name in ("cpu", "memory"):
        text = allocatable.get(name) if isinstance(allocatable, dict) else None
        if isinstance(text, str):
            try:
                amount = parse_quantity(text)
            except QuantityError:
                continue
            found[name] = amount.milli_value() if name == "cpu" else amount.value()
    return found
