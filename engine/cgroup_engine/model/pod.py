"""A pod: the fields that its cgroups depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from cgroup_engine.model.names import QosClass
from cgroup_engine.model.quantity import Quantity
from cgroup_engine.model.value import value

Resources = Mapping[str, Quantity]  # resource name ("cpu", "memory", ...) -> amount


@value(frozen=True, slots=True)
class Container:
    """A container of a pod.

    ``id`` is the runtime's, or None while there is none. ``stopped``: the status says that it waits or has terminated,
    so that its cgroup may be gone. ``restart_on``: the resources, cpu or memory, whose in-place
    resize restarts the container (resizePolicy RestartContainer).
    """

    name: str
    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)
    id: str | None = None
    init: bool = False
    sidecar: bool = False  # an init container with restartPolicy Always
    restart_on: frozenset[str] = frozenset()
    stopped: bool = False


@value(frozen=True, slots=True)
class StatusResources:
    """The resources of a container or of a pod in the pod's status.

    ``requests`` are allocatedResources. ``limits`` and ``requests_in_force`` are those of resources; None if the status
    has no resources.
    """

    requests: Resources
    limits: Resources | None
    requests_in_force: Resources | None = None


@value(frozen=True, slots=True)
class Allocation:
    """The resources that the pod's status tells of, by container, and the state of a resize.

    ``pending``: why a resize is not allocated (Deferred, Infeasible, Proposed), or "". ``in_progress``: an allocated
    resize is not in force everywhere.
    """

    containers: Mapping[str, StatusResources] = field(default_factory=dict)
    pod: StatusResources | None = None
    pending: str = ""
    in_progress: bool = False


@value(frozen=True, slots=True)
class Pod:
    """A pod: the fields that its cgroups depend on.

    ``requests`` and ``limits`` are spec.resources. ``gated_requests`` are spec.resources.requests for a kubelet with
    the gate PodLevelResources off. ``empty_resources``: spec.resources is given, and names nothing. ``allocation`` is
    the status's. ``asked``: the pod as its spec asks for it, if the kubelet has allocated other resources to it.
    """

    uid: str
    name: str
    namespace: str
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    overhead: Resources = field(default_factory=dict)
    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)
    gated_requests: Resources = field(default_factory=dict)
    empty_resources: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict)
    priority: int | None = None
    priority_class_name: str = ""
    termination_grace: int = 30  # seconds
    status_qos_class: QosClass | None = None
    ended: bool = False  # status.phase Succeeded or Failed
    terminating: bool = False  # metadata.deletionTimestamp is set
    source: str = ""
    node_name: str = ""
    unscheduled: bool = False  # of an API server, and without spec.nodeName
    workload: str = ""  # KIND/NAME of its controller; "" without one
    hashed: bool = False  # the UID is the kubelet's hash of a static pod's manifest
    allocation: Allocation | None = None
    asked: Pod | None = None

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """The containers whose resources count, so without ephemeral ones."""
        return self.containers + self.init_containers

    @property
    def long_running(self) -> tuple[Container, ...]:
        """The sidecars, then the regular containers."""
        return tuple(c for c in self.init_containers if c.sidecar) + self.containers

    @property
    def with_cgroup(self) -> tuple[Container, ...]:
        """The containers that have a cgroup while the pod runs: sidecars, regular ones, ephemeral ones that run."""
        return self.long_running + tuple(c for c in self.ephemeral_containers if not c.stopped)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
