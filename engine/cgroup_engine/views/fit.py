"""Do the pods fit on the node? Their requests, their number, and the memory that memory.min protects.

A plan is made all the same: a kubelet rejects pods one by one when it admits them, and the cgroups of the others stay.
Sources: generalFilter of ``pkg/kubelet/lifecycle/predicate.go`` (OutOfcpu, OutOfmemory, OutOfpods), and MachineInfo of
``pkg/kubelet/nodestatus/setters.go`` (allocatable, maxPods, podsPerCore).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resources import pod_requests, summed
from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import ZERO
from cgroup_engine.model.wanted_cgroup import WantedCgroup

_NEAR = 0.9  # of the node's memory: what memory.min may protect without a warning


@dataclass(frozen=True)
class Misfit:
    """More is asked than there is. ``what``: cpu (millicores), memory, hugepages-*, memory.min (bytes) or pods."""

    what: str
    asked: int
    room: int
    text: str

    def data(self) -> dict[str, str | int]:
        """As plain data."""
        return {"what": self.what, "asked": self.asked, "room": self.room, "text": self.text}


def misfits(node: NodeConfig, pods: Sequence[Pod], wanted: Sequence[WantedCgroup]) -> list[Misfit]:
    """What does not fit on the node: requests over allocatable, too many pods, memory.min near the node's memory."""
    running = [pod for pod in pods if not pod.ended]
    sums = summed(pod_requests(pod, node.version) for pod in running)
    found = []
    for name, amount in sums.items():
        if name not in ("cpu", "memory") and not name.startswith(PREFIX):
            continue
        room = node.reported.get(name, ZERO)
        if amount.nano > room.nano:
            asked, there = ((each.milli_value() if name == "cpu" else each.value()) for each in (amount, room))
            found.append(Misfit(name, asked, there, _over(name, asked, there)))
    if len(running) > node.max_pods:
        text = f"{len(running)} pods, and the node takes {node.max_pods}: a kubelet rejects the others (OutOfpods)"
        found.append(Misfit("pods", len(running), node.max_pods, text))
    protected = sum(cgroup.limits.memory_min or 0 for cgroup in wanted if cgroup.level in ("node", "reserved"))
    if node.cgroup_version == 2 and protected > _NEAR * node.memory:
        from cgroup_engine.views.findings import shown

        text = (
            f"memory.min protects {shown(protected, 'memory')} of the node's {shown(node.memory, 'memory')}: "
            "what else runs there may be killed, as hardly any memory can be reclaimed"
        )
        found.append(Misfit("memory.min", protected, node.memory, text))
    return found


def _over(name: str, asked: int, room: int) -> str:
    from cgroup_engine.views.findings import shown  # seldom needed

    amounts = [shown(each / 1000, "quota") if name == "cpu" else shown(each, "memory") for each in (asked, room)]
    of = "" if name == "cpu" else f" of {name}"
    return (
        f"pods request {amounts[0]}{of}, and {amounts[1]} are allocatable: "
        f"a kubelet rejects pods that do not fit (OutOf{name})"
    )
