"""Pods and their containers by the names that people write."""

from __future__ import annotations

from collections.abc import Sequence

from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup


class PodNames:
    """Finds the cgroups of containers. Methods raise ValueError that says what is wrong with a name."""

    def __init__(self, wanted: Sequence[WantedCgroup]) -> None:
        self.containers = [
            cgroup for cgroup in wanted if cgroup.level == "container" and not cgroup.is_pod_sandbox and cgroup.pod
        ]

    def pod(self, name: str) -> Pod:
        """A pod with a cgroup, by NAMESPACE/NAME, or by its name if no other namespace has it."""
        pods = {cgroup.pod.uid: cgroup.pod for cgroup in self.containers if cgroup.pod is not None}
        matching = [pod for pod in pods.values() if name in (str(pod), pod.name)]
        if not matching:
            raise ValueError(f"there is no pod {name!r} on the node")
        if len(matching) > 1:
            raise ValueError(f"{len(matching)} pods have the name {name!r}: write NAMESPACE/NAME")
        return matching[0]

    def container(self, pod: Pod, name: str | None) -> WantedCgroup:
        """The cgroup of a pod's container; without a name of its only one."""
        containers = [cgroup for cgroup in self.containers if cgroup.pod is not None and cgroup.pod.uid == pod.uid]
        names = [container_name(cgroup) for cgroup in containers]
        if name is None and len(containers) == 1:
            return containers[0]
        if name is None:
            raise ValueError(f"the pod {pod} has several containers: say which with container: {' or '.join(names)}")
        if name not in names:
            raise ValueError(f"the pod {pod} has no running container {name!r}; there is {', '.join(names)}")
        return containers[names.index(name)]


def container_name(cgroup: WantedCgroup) -> str:
    """The name of the container of a container's cgroup."""
    return cgroup.container.name if cgroup.container is not None else ""
