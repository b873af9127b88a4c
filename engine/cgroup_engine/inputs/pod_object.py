"""Reads one Pod object, as decoded from YAML or JSON. Fields that no cgroup depends on are ignored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from cgroup_engine.errors import PodError, QuantityError, UnsafeNameError, quoted
from cgroup_engine.inputs.pod_checks import check_pod
from cgroup_engine.inputs.pod_defaults import defaulted
from cgroup_engine.inputs.workload import workload_of
from cgroup_engine.kubelet.allocation import with_allocation
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import QosClass, check_container_id, check_uid
from cgroup_engine.model.pod import Allocation, Container, Pod, Resources, StatusResources
from cgroup_engine.model.quantity import ZERO, Quantity, parse

_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_OF_KUBELET = "kubernetes.io/config."  # the annotations that say where a kubelet has a pod from
_MIRROR = f"{_OF_KUBELET}mirror"
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_QOS: dict[str, QosClass] = {"Guaranteed": "Guaranteed", "Burstable": "Burstable", "BestEffort": "BestEffort"}


def pod_from_object(item: Any, where: str, version: KubeletVersion, *, kind_needed: bool = True) -> Pod:
    """A pod from one Pod object, with defaults and checked; ``where`` begins every message.

    The resources are those that its kubelet has allocated, if the status tells them.

    :raises PodError: it cannot be used.
    """
    pod = defaulted(decoded(item, where, version, kind_needed=kind_needed), version)
    check_pod(pod, version)
    return with_allocation(pod, version)


def decoded(
    item: Any, where: str, version: KubeletVersion, *, kind_needed: bool = True, uid_needed: bool = True
) -> Pod:
    """A pod from one Pod object as written: no defaults, and only types are checked.

    :raises PodError: it cannot be read.
    """
    return _Reader(where, version).pod(item, kind_needed, uid_needed)


def _not_running(state: Mapping[str, Any]) -> bool:
    return state.get("running") is None and (state.get("waiting") is not None or state.get("terminated") is not None)


class _Reader:
    """Reads one object; its errors name the field."""

    def __init__(self, where: str, version: KubeletVersion) -> None:
        self.where = where
        self.version = version

    def error(self, field_name: str, message: str, todo: str = "", value: str | None = None) -> PodError:
        spot = f"{self.where}: {field_name}" if field_name else self.where
        return PodError(f"{spot}: {message}", path=self.where, value=value, todo=todo)

    def pod(self, item: Any, kind_needed: bool, uid_needed: bool) -> Pod:
        if not isinstance(item, dict):
            raise self.error("", "is not a Pod object", "give objects with kind: Pod")
        kind, api_version = item.get("kind"), item.get("apiVersion")
        if (kind != "Pod" or api_version != "v1") and not (not kind_needed and kind is None and api_version is None):
            what = f"kind {quoted(kind)} of apiVersion {quoted(api_version)}"
            raise self.error("", f"{what} is not a Pod of v1", "give objects of kind Pod")
        metadata = self.mapping(item, "metadata")
        name = self.text(metadata, "metadata.name")
        if not _DNS_SUBDOMAIN.fullmatch(name):
            raise self.error("metadata.name", f"{quoted(name)} is not a pod name", "use a-z, 0-9, - and .", name)
        namespace = self.text(metadata, "metadata.namespace", "default")
        if not _DNS_LABEL.fullmatch(namespace):
            raise self.error("metadata.namespace", f"{quoted(namespace)} is not a namespace", "use a-z, 0-9 and -")
        source = self.where
        self.where = f"{source}: pod {namespace}/{name}"
        annotations = {
            key: text
            for key, text in self.mapping(metadata, "metadata.annotations").items()
            if isinstance(key, str) and isinstance(text, str) and key.startswith(_OF_KUBELET)
        }
        spec, status = self.mapping(item, "spec"), self.mapping(item, "status")
        ids = self.container_ids(status)
        stopped = self.stopped_containers(status) | self.untold_containers(spec, status)
        containers = self.containers(spec, "containers", ids, stopped)
        init_containers = self.containers(spec, "initContainers", ids, stopped)
        ephemeral_containers = self.containers(spec, "ephemeralContainers", ids, stopped)
        if not containers:
            raise self.error("spec.containers", "is empty", "a pod needs at least one container")
        self.check_unique(containers + init_containers + ephemeral_containers)
        node_name = self.text(spec, "spec.nodeName", "")
        gate = self.version.enabled("PodLevelResources")
        requests, limits = self.pod_level(spec, gate)
        return Pod(
            uid=self.uid(metadata, annotations) if uid_needed else "",
            name=name,
            namespace=namespace,
            containers=containers,
            init_containers=init_containers,
            ephemeral_containers=ephemeral_containers,
            overhead=self.amounts(spec, "spec.overhead"),
            requests=requests if gate else {},
            limits=limits,
            gated_requests={} if gate else requests,
            empty_resources=gate and not requests and not limits and spec.get("resources") is not None,
            annotations=annotations,
            priority=self.priority(spec),
            priority_class_name=self.text(spec, "spec.priorityClassName", ""),
            termination_grace=self.termination_grace(spec),
            status_qos_class=self.status_qos(status),
            ended=status.get("phase") in ("Succeeded", "Failed"),
            terminating=metadata.get("deletionTimestamp") not in (None, ""),
            source=source,
            node_name=node_name,
            unscheduled=node_name == "" and metadata.get("resourceVersion") not in (None, ""),
            allocation=self.allocation(status),
            workload=workload_of(metadata),
        )

    def pod_level(self, spec: Mapping[str, Any], gate: bool) -> tuple[Resources, Resources]:
        """spec.resources, a field since 1.32; without the gate PodLevelResources its limits are not read."""
        if not self.version.at_least(32):
            return {}, {}
        resources = self.mapping(spec, "spec.resources")
        limits = self.amounts(resources, "spec.resources.limits") if gate else {}
        requests = self.amounts(resources, "spec.resources.requests")
        return requests, limits

    def uid(self, metadata: Mapping[str, Any], annotations: Mapping[str, str]) -> str:
        # A mirror pod shows a static pod in the API. The cgroup has the static pod's UID (CreateMirrorPod, getPodHash).
        field, uid = "metadata.annotations", annotations.get(_MIRROR, "")
        if uid == "":
            field, uid = "metadata.uid", self.text(metadata, "metadata.uid", "")
        if uid == "":
            raise self.error(
                "metadata.uid",
                "is missing",
                "add one, or give a static pod's manifest as a file of its own",
            )
        try:
            return check_uid(uid)
        except UnsafeNameError as refused:
            raise self.error(field, refused.message, refused.todo, uid) from None

    def containers(
        self, spec: Mapping[str, Any], key: str, ids: Mapping[str, str], stopped: Set[str]
    ) -> tuple[Container, ...]:
        listed = spec.get(key) or []
        if not isinstance(listed, list):
            raise self.error(f"spec.{key}", "is not a list")
        return tuple(self.container(item, f"spec.{key}[{n}]", ids, stopped, key) for n, item in enumerate(listed))

    def container(self, item: Any, spot: str, ids: Mapping[str, str], stopped: Set[str], key: str) -> Container:
        if not isinstance(item, dict):
            raise self.error(spot, "is not a container")
        name = self.text(item, f"{spot}.name")
        if not _DNS_LABEL.fullmatch(name):
            raise self.error(f"{spot}.name", f"{quoted(name)} is not a container name", "use a-z, 0-9 and -", name)
        resources = self.mapping(item, f"{spot}.resources")
        requests = self.amounts(resources, f"{spot}.resources.requests")
        limits = self.amounts(resources, f"{spot}.resources.limits")
        init = key == "initContainers"
        # before 1.28 the API has no restartPolicy of a container and drops it
        always = init and item.get("restartPolicy") == "Always" and self.version.enabled("SidecarContainers")
        restart_on = self.restart_on(item, spot)
        return Container(name, requests, limits, ids.get(name), init, always, restart_on, name in stopped)

    def restart_on(self, container: Mapping[str, Any], spot: str) -> frozenset[str]:
        """The resources with resizePolicy RestartContainer, cpu or memory; the default is NotRequired."""
        listed = container.get("resizePolicy") or []
        if not isinstance(listed, list) or not all(isinstance(policy, dict) for policy in listed):
            raise self.error(f"{spot}.resizePolicy", "is not a list of policies")
        names = [policy.get("resourceName") for policy in listed if policy.get("restartPolicy") == "RestartContainer"]
        return frozenset(name for name in ("cpu", "memory") if name in names)

    def amounts(self, parent: Mapping[str, Any], spot: str) -> Resources:
        amounts = {}
        for name, raw in self.mapping(parent, spot).items():
            if not isinstance(name, str):
                raise self.error(spot, f"{quoted(name)} is not a resource name", "use a text such as cpu")
            here = f"{spot}.{name}" if name.isprintable() and len(name) <= 253 else f"{spot}.{quoted(name)}"
            amounts[name] = self.amount(raw, here)
        return amounts

    def amount(self, raw: Any, spot: str) -> Quantity:
        if raw is None:
            return ZERO  # Quantity.UnmarshalJSON
        if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
            raise self.error(spot, f"{quoted(raw)} is not a quantity", 'write a number or a text such as "500m"')
        text = raw.strip() if isinstance(raw, str) else f"{raw}"
        try:
            return parse(text)
        except QuantityError as refused:
            raise self.error(spot, refused.message, refused.todo, text) from None

    def check_unique(self, containers: Sequence[Container]) -> None:
        names: set[str] = set()
        ids: set[str] = set()
        for container in containers:
            if container.name in names:
                raise self.error("spec", f"two containers are named {quoted(container.name)}", "give each its own name")
            names.add(container.name)
            if container.id is not None and container.id in ids:
                raise self.error("status", f"two containers have the id {container.id}", "give each its own id")
            ids.add(container.id or "")

    def allocation(self, status: Mapping[str, Any]) -> Allocation | None:
        """The allocated resources and the state of a resize; None if the status tells nothing of them."""
        containers = {}
        for key in ("containerStatuses", "initContainerStatuses"):
            for n, item in enumerate(status.get(key) or []):
                resources = self.status_resources(item, f"status.{key}[{n}]")
                if resources is not None:
                    containers[self.text(item, f"status.{key}[{n}].name")] = resources
        pod = self.status_resources(status, "status")
        if not containers and pod is None:
            return None
        pending, in_progress = self.resize_state(status)
        return Allocation(containers, pod, pending, in_progress)

    def status_resources(self, status: Mapping[str, Any], spot: str) -> StatusResources | None:
        allocated, resources = status.get("allocatedResources"), status.get("resources")
        if allocated is None and resources is None:
            return None
        limits = in_force = None
        if resources is not None:
            given = self.mapping(status, f"{spot}.resources")
            limits = self.amounts(given, f"{spot}.resources.limits")
            in_force = self.amounts(given, f"{spot}.resources.requests")
        return StatusResources(self.amounts(status, f"{spot}.allocatedResources"), limits, in_force)

    def resize_state(self, status: Mapping[str, Any]) -> tuple[str, bool]:
        """Why a resize is pending, and whether one is in progress: conditions since 1.33, status.resize before."""
        old = self.text(status, "status.resize", "")
        pending, in_progress = ("" if old == "InProgress" else old), old == "InProgress"
        listed = status.get("conditions") or []
        if not isinstance(listed, list):
            raise self.error("status.conditions", "is not a list")
        for condition in listed:
            if isinstance(condition, dict) and condition.get("status") == "True":
                if condition.get("type") == "PodResizePending":
                    pending = self.text(condition, "status.conditions.reason", "pending")
                in_progress = in_progress or condition.get("type") == "PodResizeInProgress"
        return pending if pending.isalnum() else quoted(pending)[1:-1], in_progress

    def container_ids(self, status: Mapping[str, Any]) -> dict[str, str]:
        """Container name -> id, from ``containerd://<id>`` and the like."""
        ids: dict[str, str] = {}
        for key in _STATUSES:
            listed = status.get(key) or []
            if not isinstance(listed, list):
                raise self.error(f"status.{key}", "is not a list")
            for n, item in enumerate(listed):
                spot = f"status.{key}[{n}]"
                if not isinstance(item, dict):
                    raise self.error(spot, "is not a container status")
                name, url = self.text(item, f"{spot}.name"), self.text(item, f"{spot}.containerID", "")
                if url == "":
                    continue
                try:
                    ids[name] = check_container_id(url.split("://", 1)[-1])
                except UnsafeNameError as refused:
                    raise self.error(f"{spot}.containerID", refused.message, refused.todo, url) from None
        return ids

    @staticmethod
    def stopped_containers(status: Mapping[str, Any]) -> frozenset[str]:
        """The containers that wait or have terminated; ``container_ids`` has checked the lists."""
        listed = [item for key in _STATUSES for item in status.get(key) or []]
        states = [(item["name"], item.get("state")) for item in listed]
        return frozenset(name for name, state in states if isinstance(state, dict) and _not_running(state))

    @staticmethod
    def untold_containers(spec: Mapping[str, Any], status: Mapping[str, Any]) -> frozenset[str]:
        """The containers of a pod that has just been bound to a node, and of which the kubelet has not told yet."""
        if status.get("phase") != "Pending" or not spec.get("nodeName") or any(status.get(key) for key in _STATUSES):
            return frozenset()
        names = [item.get("name") for key in _CONTAINERS for item in spec.get(key) or [] if isinstance(item, dict)]
        return frozenset(name for name in names if isinstance(name, str))

    def priority(self, spec: Mapping[str, Any]) -> int | None:
        priority = spec.get("priority")
        if priority is None or (isinstance(priority, int) and not isinstance(priority, bool)):
            return priority
        raise self.error("spec.priority", f"{quoted(priority)} is not a whole number")

    def termination_grace(self, spec: Mapping[str, Any]) -> int:
        seconds = spec.get("terminationGracePeriodSeconds")
        if seconds is None:
            return 30  # SetDefaults_PodSpec
        if isinstance(seconds, int) and not isinstance(seconds, bool):
            return seconds if seconds >= 0 else 1  # Convert_v1_Pod_To_core_Pod
        raise self.error("spec.terminationGracePeriodSeconds", f"{quoted(seconds)} is not a whole number")

    def status_qos(self, status: Mapping[str, Any]) -> QosClass | None:
        text = self.text(status, "status.qosClass", "")
        if text == "":
            return None
        if text not in _QOS:
            raise self.error("status.qosClass", f"{quoted(text)} is not a QoS class", f"use one of {', '.join(_QOS)}")
        return _QOS[text]

    def mapping(self, parent: Mapping[str, Any], spot: str) -> Mapping[str, Any]:
        value = parent.get(spot.rsplit(".", 1)[-1])
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.error(spot, "is not a mapping")
        return value

    def text(self, parent: Mapping[str, Any], spot: str, default: str | None = None) -> str:
        value = parent.get(spot.rsplit(".", 1)[-1])
        if value is None and default is not None:
            return default
        if value is None:
            raise self.error(spot, "is missing")
        if not isinstance(value, str):
            raise self.error(spot, f"{quoted(value)} is not a text", "put it in quotes")
        return value
