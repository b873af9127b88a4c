"""A kernel in this process that has the node's hierarchy, as ``apply`` makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cgroup_engine.change.apply import execute
from cgroup_engine.errors import ConfigError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.plan.for_driver import plan_for_driver
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.layout import detect
from fakecgroup import Kernel, KernelFs


class NodeKernel:
    """The kernel of a node of this size, with cgroup v2, and on it the cgroups of the node's pods.

    ``seed`` decides what is random. Its clock begins at 0.

    :raises ConfigError: no kernel has such a machine.
    :raises EngineError: the hierarchy cannot be planned, or the kernel refuses a step of the plan.
    """

    def __init__(self, node: NodeConfig, pods: Sequence[Pod], seed: int = 0) -> None:
        pages = ",".join(f"{size >> 10}Ki={total // size}" for size, total in node.huge_pages.items())
        try:
            self.kernel = Kernel(
                cpus=node.cpus, memory=node.memory, swap=node.swap, hugepages=pages or None, clock=lambda: 0, seed=seed
            )
        except ValueError as refused:
            raise ConfigError(f"no such machine can be simulated: {refused}") from None
        self._fs = KernelFs(self.kernel)
        layout = self._found().layout
        self.node = replace(node, cgroup_version=layout.version, cpu_list=layout.cpus)
        self._make_reserved(layout.available)
        self.wanted: tuple[WantedCgroup, ...] = ()
        """The cgroups of the pods that are left."""
        self.apply(pods)
        self.wanted_at_first = self.wanted
        """What ``wanted`` was before anybody was evicted."""

    def apply(self, pods: Sequence[Pod]) -> None:
        """Makes the cgroups as they should be with these pods.

        :raises EngineError: the hierarchy cannot be planned, or the kernel refuses a step of the plan.
        """
        self.wanted = wanted_tree(self.node, pods)
        plan = plan_for_driver(self.wanted, self._found(), self.node.driver, None)
        outcome = execute(plan, self._fs)
        for failure in outcome.failed:
            raise failure

    def read(self, path: str) -> str:
        """The text of a file, by its path below the root; "" if it is not there."""
        try:
            return self._fs.read(path)
        except OSError:
            return ""

    def _found(self) -> FoundTree:
        return FoundTree(self._fs, detect(self._fs, "the simulated kernel"))

    def _make_reserved(self, controllers: Sequence[str]) -> None:
        """The reserved cgroups that are enforced, which an operator makes."""
        enable = " ".join(f"+{name}" for name in controllers)
        for cgroup in wanted_tree(self.node, ()):
            if cgroup.level != "reserved":
                continue
            above = ""
            for name in cgroup.path.split("/"):
                self._fs.write(f"{above}/cgroup.subtree_control".lstrip("/"), enable)
                above = f"{above}/{name}".lstrip("/")
                if not self._fs.is_dir(above):
                    self._fs.mkdir(above)
