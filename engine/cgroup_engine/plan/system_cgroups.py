"""kubeletCgroups and systemCgroups: the kubelet moves itself and the root's processes there.

Source: ``pkg/kubelet/cm/container_manager_linux.go`` (setupNode, ensureProcessInContainerWithOOMScore,
ensureSystemCgroups), the same from 1.24 to 1.36. Both are plain paths with either driver, and have no limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.wanted_cgroup import Field
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import Setting
from cgroup_engine.tree.knobs.knob import PlainKnob
from cgroup_engine.tree.layout import Controller
from cgroup_engine.tree.proc import Proc


class _Processes(PlainKnob):
    """cgroup.procs as a knob: one more process in it. Nothing is ever lowered or reset."""

    field: Field = "processes"
    controller: Controller = "cpu"
    files: tuple[str, ...] = ("cgroup.procs",)
    default: Setting = ("",)

    def given(self, limits: CgroupLimits) -> bool:
        return False

    def setting(self, limits: CgroupLimits) -> Setting | None:
        return None

    def same(self, wanted: str, found: str, file: str) -> bool:
        return wanted in found.split()

    def writes(self, old: Setting, new: Setting) -> list[tuple[str, str]]:
        return []

    def unit(self) -> str:
        return "pid"


_PROCESSES = _Processes()


def with_moves(plan: Plan, node: NodeConfig, found: FoundTree, processes: Proc | None = None) -> Plan:
    """A plan with the moves of processes at its end; ``processes``: those of the machine.

    :raises RootError: processes of a cgroup cannot be read.
    """
    return replace(plan, steps=(*plan.steps, *moves(node, found, processes or Proc())))


def moves(node: NodeConfig, found: FoundTree, processes: Proc) -> Iterator[Step]:
    """The writes to cgroup.procs, in every hierarchy, for kubeletCgroups and systemCgroups.

    systemCgroups gets the processes of the root cgroup itself, without process 1 and kernel threads. (On v1 a kubelet
    looks only at the root of the devices hierarchy.)

    :raises RootError: the root's processes cannot be read.
    """
    for path, pids, why in (
        ("/".join(node.system_cgroups), _of_root(node, found, processes), "a process of the root cgroup"),
        ("/".join(node.kubelet_cgroups), processes.kubelets() if node.kubelet_cgroups else [], "the kubelet"),
    ):
        inside = set(found.processes(path)) if path and pids else set()
        for pid in pids:
            if pid not in inside:
                yield from _move(path, pid, why, found)


def _of_root(node: NodeConfig, found: FoundTree, processes: Proc) -> Sequence[int]:
    if not node.system_cgroups:
        return ()
    return [pid for pid in found.processes("") if pid != 1 and not processes.is_kernel_thread(pid)]


def _move(path: str, pid: int, why: str, found: FoundTree) -> Iterator[Step]:
    owner = "systemCgroups" if why != "the kubelet" else "kubeletCgroups"
    for hierarchy in found.layout.hierarchies:
        file = f"{found.layout.directory(hierarchy, path)}/cgroup.procs"
        yield Step("write", file, path, f"{why} belongs here", owner, str(pid), "", _PROCESSES)
