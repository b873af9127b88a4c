"""When a changed value of a cgroup takes effect on a node that runs.

Sources: a kubelet reads its configuration at its start and writes kubepods and the reserved cgroups then
(``setupNode`` of ``pkg/kubelet/cm/container_manager_linux.go``). It writes the QoS classes every minute (``Start`` of
``pkg/kubelet/cm/qos_container_manager_linux.go``). It does not write the cgroup of a pod that is there already
(``EnsureExists`` of ``pkg/kubelet/cm/pod_container_manager_linux.go``). A runtime gets a container's values
when it makes the container. Only a list of CPUs is changed in running ones (``reconcileState`` of
``pkg/kubelet/cm/cpumanager/cpu_manager.go``, every ``cpuManagerReconcilePeriod``, 10 seconds by default).
"""

from __future__ import annotations

from typing import Literal

from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.model.wanted_cgroup import Field, Level

Effect = Literal["restart", "minute", "new-pod", "new-container"]
EFFECTS: tuple[Effect, ...] = ("restart", "minute", "new-pod", "new-container")
IN_WORDS: dict[Effect, str] = {
    "restart": "at the kubelet's restart",
    "minute": "within a minute",
    "new-pod": "for new pods",
    "new-container": "for new containers: drain",
}
AFTER_A_REBOOT = "at the reboot"


def takes_effect(level: Level, what: Field) -> Effect:
    """When a value of a cgroup of this level changes, after the kubelet's restart with its new configuration."""
    if level == "pod":
        return "new-pod"
    if level == "container" and what == "cpus":
        return "minute"
    if level in ("container", "runtime"):
        return "new-container"
    if level == "qos" and what != "cgroup":
        return "minute"
    if level == "node" and (what in ("memory_min", "memory_low") or what.startswith(PREFIX)):
        return "minute"  # the QoS manager writes these
    return "restart"
