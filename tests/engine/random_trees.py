"""Random trees that a kernel accepts, changes by others, and other wanted trees.

``chance`` is a ``random.Random``, or hypothesis's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from cgroup_engine.change.apply import Outcome, execute
from cgroup_engine.inputs.config import feature_gates, node_config
from cgroup_engine.inputs.pod_object import pod_from_object
from cgroup_engine.kubelet.cpu_weight import with_weight
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.names import Driver
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.wanted_cgroup import Level, WantedCgroup
from cgroup_engine.plan.step import Plan
from cgroup_engine.plan.steps import settings_of
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import CPUS as CPU_LIST
from cgroup_engine.tree.knobs import KNOBS, MEMORY_AND_SWAP, hugetlb_knob
from cgroup_engine.tree.layout import Layout, detect
from fakecgroup import Kernel, KernelFs, ProcessTable

CPUS, NODES, MEMORY = 4, 2, 1 << 30
UID = "0aa1a5e2-0b3f-4d0e-8f31-0000000000{:02d}"
CONTAINER = "{:064x}"
PERIODS = (1000, 5000, 10_000, 33_333, 100_000, 250_000, 1_000_000)
SIZES = tuple(n << 20 for n in (4, 8, 16, 40, 64, 100, 128, 256, 900))
HUGE = (2 << 20, 1 << 30)


class Machine(KernelFs):
    """A model with the engine on it. ``log``: the operations that succeeded, as those of a conformance case."""

    def __init__(self, layout: str, version: str) -> None:
        self.table = ProcessTable()
        super().__init__(Kernel(layout, version, cpus=CPUS, numa_nodes=NODES, memory=MEMORY, processes=self.table))
        self.series = version
        self.log: list[Any] = []
        self.processes: dict[Any, Any] = {}
        self.layout = detect(self, "model")

    def mkdir(self, path: str) -> None:
        super().mkdir(path)
        self.log.append(("mkdir", path))

    def rmdir(self, path: str) -> None:
        super().rmdir(path)
        self.log.append(("rmdir", path))

    def write(self, path: str, data: str) -> None:
        super().write(path, data)
        is_pid = path.endswith("/cgroup.procs")
        self.log.append(("write", path, self.processes.get(data, data) if is_pid else data))

    def found(self) -> FoundTree:
        return FoundTree(self, self.layout)

    def run(self, plan: Plan, tell: Callable[..., Any] = lambda step: None) -> Outcome:
        return execute(plan, self, tell)

    def cgroups(self, path: str = "") -> list[str]:
        """Every cgroup below a path, parents first."""
        return [cgroup.path for cgroup in self.found().below(path) if cgroup.path]

    def values(self, wanted: Iterable[WantedCgroup]) -> Any:
        """The texts of the wanted files: path -> text."""
        files = {
            self.layout.file(knob.controller, cgroup.path, file)
            for cgroup in wanted
            for knob, _ in settings_of(cgroup, self.layout)
            for file in knob.files
        }
        return {path: self.read(path) for path in sorted(files)}

    def process_in(self, path: str) -> bool:
        """A process that lives in a cgroup, in every tree that has it; False where the kernel lets none in."""
        pid = str(self.table.add())
        name = f"p{len(self.processes)}"
        self.log.append(("fork", name))
        self.processes[pid] = f"${name}"
        try:
            for tree in self.layout.hierarchies:
                directory = self.layout.directory(tree, path)
                if self.is_dir(directory):
                    self.write(f"{directory}/cgroup.procs", pid)
        except OSError:
            return False
        return True


# -- a kubelet's trees ------------------------------------------------------------------------------------------


def kubelet_node(chance: Any, machine: Machine, driver: Driver = "cgroupfs", cgroup_root: str = "") -> NodeConfig:
    minor = chance.choice([24, 27, 30, 31, 32, 34, 36])
    fields = {
        "evictionHard": {"memory.available": "0%"},
        "enforceNodeAllocatable": chance.choice([["pods"], [], ["pods"]]) or ["none"],
        "cpuCFSQuota": chance.random() < 0.8,
        "cpuCFSQuotaPeriod": chance.choice(["1ms", "10ms", "33ms", "100ms", "1s"]),
        "podPidsLimit": chance.choice([-1, 50, 100]),
        "kubeReserved": chance.choice([{}, {"cpu": "500m", "memory": "100Mi"}]),
        "cpuManagerPolicy": chance.choice(["none", "static"]),
        "featureGates": {},
    }
    if fields["cpuManagerPolicy"] == "static":
        fields["kubeReserved"] = {"cpu": "500m", "memory": "100Mi"}
    if chance.random() < 0.5:
        fields["featureGates"]["MemoryQoS"] = True
        if minor >= 36 and chance.random() < 0.5:
            fields["memoryReservationPolicy"] = "TieredReservation"
    if minor < 28 and chance.random() < 0.5:
        fields["featureGates"]["NodeSwap"] = True
    if minor >= 28 or "NodeSwap" in fields["featureGates"]:
        fields["memorySwap"] = {
            "swapBehavior": chance.choice(["LimitedSwap", "NoSwap"] if minor >= 28 else ["LimitedSwap"])
        }
        fields["failSwapOn"] = False
    if fields["cpuCFSQuotaPeriod"] != "100ms":
        fields["featureGates"]["CustomCPUCFSQuotaPeriod"] = True
    if chance.random() < 0.3:
        fields["featureGates"]["QOSReserved"] = True
        fields["qosReserved"] = {"memory": "50%"}
    if cgroup_root:
        fields["cgroupRoot"] = cgroup_root
    version = KubeletVersion(minor, feature_gates(fields, "random"))
    node = node_config(
        fields, "random", version=version, cpus=CPUS, memory=MEMORY, max_pids=32768, swap=chance.choice([0, 1 << 30]),
        huge_pages=chance.choice([{}, {2 << 20: 16 << 20, 1 << 30: 0}]), driver=driver, runtime="containerd",
    )  # fmt: skip
    return replace(node, cgroup_version=machine.layout.version, cpu_list=machine.layout.cpus)


def kubelet_pods(chance: Any, node: NodeConfig, numbers: range) -> list[Pod]:
    return [_pod(chance, number, node) for number in numbers if chance.random() < 0.7]


def _pod(chance: Any, number: int, node: NodeConfig) -> Pod:
    containers = [_container(chance, number, n, node) for n in range(chance.randint(1, 3))]
    spec = {"containers": containers}
    metadata = {"name": f"p{number}", "namespace": "default", "uid": UID.format(number)}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return pod_from_object(pod, "random", node.version)


def _container(chance: Any, number: int, n: int, node: NodeConfig) -> dict[str, Any]:
    limits, requests = {}, {}
    for name, amounts in (("cpu", ("15m", "100m", "250m", "1", "1500m", "2")), ("memory", ("8Mi", "16Mi", "64Mi"))):
        limit, request = sorted(chance.choice(range(len(amounts))) for _ in range(2))[::-1]
        if chance.random() < 0.6:
            limits[name] = amounts[limit]
        if chance.random() < 0.6:
            requests[name] = amounts[request if chance.random() < 0.6 else limit]
    if node.huge_pages and limits and chance.random() < 0.3:
        limits["hugepages-2Mi"] = chance.choice(["2Mi", "4Mi"])
    return {"name": f"c{n}", "image": "i", "resources": {"limits": limits, "requests": requests}}


def kubelet_tree(chance: Any, machine: Machine, numbers: range = range(1, 4)) -> list[WantedCgroup]:
    node = kubelet_node(chance, machine)
    return list(wanted_tree(node, kubelet_pods(chance, node, numbers)))


# -- trees of any values ------------------------------------------------------------------------------------------


def any_tree(chance: Any, machine: Machine, paths: list[str]) -> list[WantedCgroup]:
    """Values as a kernel accepts them together: no child over its parent in quota or CPUs."""
    # before 6.1 a v2 cgroup keeps its parent from giving up a CPU, so all cgroups have a list or none has
    lists = chance.random() < 0.7
    tree: list[WantedCgroup] = []
    bounds: dict[str, tuple[Any, frozenset[int]]] = {"": (None, frozenset(range(CPUS)))}
    for path in paths:
        above, cpus = bounds[path.rpartition("/")[0]]
        quota = _quota(chance, above)
        given = lists and (machine.layout.version == 2 or chance.random() < 0.6)
        if given:
            cpus = frozenset(chance.sample(sorted(cpus), chance.randint(1, len(cpus))))
        bounds[path] = (quota or above, cpus)
        depth = path.count("/")
        level: Level = "node" if depth == 0 else "pod" if path.rpartition("/")[2].startswith("pod") else "qos"
        memory = chance.choice([None, *SIZES])
        limits = CgroupLimits(
            shares=chance.choice([None, 2, 512, 1024, 262144]),
            quota_us=quota[0] if quota else None,
            period_us=quota[1] if quota else chance.choice([None, 50_000]),
            memory=memory,
            pids=chance.choice([None, 20, 50, 1000]),
            cpus=cpu_list(cpus) if given else None,
            swap=chance.choice([None, 0]) if memory else None,
            hugepages={} if chance.random() < 0.5 else {2 << 20: chance.choice([0, 4 << 20, 1 << 62])},
            memory_min=chance.choice([None, 0, 4 << 20]),
            memory_low=chance.choice([None, 0, 8 << 20]),
            memory_high=chance.choice([None, 32 << 20]),
        )
        tree.append(WantedCgroup(path, "container" if depth > 2 else level, path, with_weight(limits)))
    return tree


def _quota(chance: Any, above: tuple[int, int] | None) -> tuple[int, int] | None:
    if chance.random() < 0.4:
        return None
    period = chance.choice(PERIODS)
    quota = chance.choice([chance.randint(1000, 4 * period) if 4 * period > 1000 else 1000, 1000, period])
    quota = max(1000, quota)
    if above is not None and _ratio(quota, period) > _ratio(*above):
        # the ancestor's quota, if this period can express it
        quota = above[0] * period // above[1]
        if quota < 1000 or _ratio(quota, period) > _ratio(*above):
            return None
    return quota, period


def _ratio(quota: int, period: int) -> int:
    return (quota << 20) // period


def any_paths(chance: Any) -> list[str]:
    """Deeper than a kubelet's: kubepods, classes, pods, containers, and cgroups of theirs."""
    paths = ["kubepods"]
    for parent in ("kubepods", "kubepods/burstable", "kubepods/besteffort"):
        if parent not in paths:
            paths.append(parent)
        for number in (1, 2):
            if chance.random() < 0.6:
                pod = f"{parent}/pod{UID.format(number + 10 * parent.count('/'))}"
                paths.append(pod)
                for n in (1, 2):
                    if chance.random() < 0.6:
                        paths.append(f"{pod}/{CONTAINER.format(n)}")
    return paths


# -- strangers ------------------------------------------------------------------------------------------------------

_FILES = {
    "cpu": ("cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.weight", "cpu.max",
            "cpu.max"),
    "memory": ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max", "memory.high", "memory.min",
               "memory.low", "memory.swap.max"),
    "pids": ("pids.max",),
    "cpuset": ("cpuset.cpus", "cpuset.cpus", "cpuset.cpus"),
    "hugetlb": ("hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.rsvd.limit_in_bytes", "hugetlb.2MB.max"),
}  # fmt: skip
NASTY = {
    "cpu": ("cpu.cfs_burst_us", "cpu.max.burst", "cpu.idle"),
    "cpuset": ("cpuset.cpu_exclusive", "cpuset.cpus.partition"),
}


def drift(
    chance: Any, machine: Machine, paths: list[str], times: int, files: dict[str, tuple[str, ...]] = _FILES
) -> None:
    """Writes that the kernel accepts, to any files of some cgroups."""
    for _ in range(times):
        path = chance.choice(paths)
        controller = chance.choice([name for name in files if name in machine.layout.hierarchy_of])
        file = chance.choice(files[controller])
        try:
            machine.write(machine.layout.file(controller, path, file), _value(chance, file))
        except OSError:
            continue


def processes(chance: Any, machine: Machine, paths: list[str]) -> None:
    """Processes in some cgroups."""
    for path in paths:
        if chance.random() < 0.3:
            machine.process_in(path)


def extra_children(chance: Any, machine: Machine, parents: list[str], times: int) -> list[str]:
    """Cgroups of strangers; they get CPUs where they can, as tasks could not enter otherwise."""
    made = []
    for n in range(times):
        path = f"{chance.choice(parents)}/stranger{n}"
        for tree in machine.layout.hierarchies:
            try:
                machine.mkdir(machine.layout.directory(tree, path))
            except OSError:
                continue
        made.append(path)
    return made


def _value(chance: Any, file: str) -> str:
    if file == "cpu.shares":
        return str(chance.choice([2, 10, 1024, 5000]))
    if file == "cpu.weight":
        return str(chance.choice([1, 39, 100, 10000]))
    if file == "cpu.cfs_quota_us":
        return str(chance.choice([-1, 1000, chance.randint(1000, 400_000)]))
    if file == "cpu.cfs_period_us":
        return str(chance.choice(PERIODS))
    if file == "cpu.max":
        return f"{chance.choice(['max', 1000, chance.randint(1000, 400_000)])} {chance.choice(PERIODS)}"
    if file == "pids.max":
        return str(chance.choice(["max", 10, 60]))
    if file == "cpuset.cpus":
        return cpu_list(chance.sample(range(CPUS), chance.randint(1, CPUS)))
    if file == "cpuset.cpus.partition":
        return str(chance.choice(["root", "member"]))
    if file in ("cpuset.cpu_exclusive", "cpu.idle"):
        return "1"
    if file.endswith(("burst", "burst_us")):
        return str(chance.choice([1000, 5000, 50_000]))
    if file.startswith("hugetlb"):
        return str(chance.choice([0, 2 << 20, 8 << 20]))
    return str(chance.choice([0, 4 << 20] if file in ("memory.min", "memory.low") else SIZES))


# -- sizes of values -----------------------------------------------------------------------------------------------


def sizes_of(knob: Any) -> list[str]:
    """The names of a knob's sizes: its files, or one for quota and period."""
    return ["quota"] if knob.field == "quota" else list(knob.files)


def sizes(machine: Machine, path: str, *knobs: Any) -> dict[str, Any]:
    """How much each value of a cgroup allows; of cpuset.cpus the set."""
    result = {}
    for knob in knobs or _readable_knobs(machine.layout):
        try:
            texts = [machine.read(machine.layout.file(knob.controller, path, file)).strip() for file in knob.files]
        except OSError:
            continue
        for name, size in zip(sizes_of(knob), _sizes(knob, texts), strict=False):
            result[name] = size
    return result


def _readable_knobs(layout: Layout) -> list[Any]:
    pair = [MEMORY_AND_SWAP] if layout.version == 1 else []
    every = [*KNOBS[layout.version], *pair, *(hugetlb_knob(layout.version, size) for size in HUGE), CPU_LIST]
    return [knob for knob in every if knob.controller in layout.hierarchy_of]


def _sizes(knob: Any, texts: list[str]) -> list[Any]:
    if knob.field in ("cpus", "mems"):
        return [parse_cpu_list(texts[0])]
    if knob.field == "quota":
        quota, period = texts if len(texts) == 2 else texts[0].split()
        return [math.inf if quota in ("max", "-1") else _ratio(int(quota), int(period))]
    if knob.field in ("shares", "oom_group"):
        return [float(texts[0])]
    return [math.inf if text == "max" or not 0 <= int(text) < 1 << 62 else int(text) for text in texts]
