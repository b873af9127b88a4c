"""In-place resize: the steps that give the same pods other resources, in the kubelet's order.

Source: doPodResizeAction, computePodResizeAction and updatePodContainerResources of
``pkg/kubelet/kuberuntime/kuberuntime_manager.go``, the same order from 1.27 to 1.36 (1.37 was not read):

Memory comes before CPU. For each of both:

1. the values of the pod that grow, its limit before its shares;
2. the containers, those whose limit goes down before those whose limit goes up;
3. the values of the pod that shrink, its shares before its limit.

A container with resizePolicy RestartContainer is removed first and made anew at the end.

Differences from a kubelet:

* With MemoryQoS memory.min and memory.low of the pod follow its requests. Before 1.37 (change 140262) a kubelet leaves
  them as they were made.
* The QoS classes and kubepods follow at once, before the pods grow and after they shrink. A kubelet takes up to a
  minute.
* "No limit" counts as more than any limit. A kubelet counts it as -1 on v2, and so limits a pod before its containers.
* Huge pages stay as they are. A kubelet sets those of the pod's cgroup to 0 with each write (maybeSetHugetlb).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from cgroup_engine.errors import ResizeRefusedError, RootError, errno_name
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.resize_checks import check_fit, check_memory_in_use, check_resize, pairs
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.quantity import ZERO, Quantity
from cgroup_engine.model.wanted_cgroup import Field, WantedCgroup
from cgroup_engine.plan.as_applied import NoFiles
from cgroup_engine.plan.removal import remove_steps
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.write import Pass
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.knobs import Knob, Setting, knobs_of

Resource = Literal["memory", "cpu"]

_LIMITS: dict[Resource, tuple[Field, ...]] = {
    "memory": ("memory", "memory_and_swap", "memory_high"),
    "cpu": ("quota",),
}
_REQUESTS: dict[Resource, tuple[Field, ...]] = {"memory": ("memory_min", "memory_low"), "cpu": ("shares",)}
_OF_CONTAINERS: dict[Resource, tuple[Field, ...]] = {
    "memory": (*_LIMITS["memory"], "swap", *_REQUESTS["memory"]),
    "cpu": (*_REQUESTS["cpu"], *_LIMITS["cpu"]),
}


def resize_plan(node: NodeConfig, old: Sequence[Pod], new: Sequence[Pod], found: FoundTree) -> Plan:
    """The steps that resize pods. Changes nothing.

    ``found``: a root with the old pods, or a ``TreeAsApplied`` of them. On a root the memory in use is checked too.

    :raises ResizeRefusedError: a pod is in one of both lists only, or an API server or a kubelet would refuse.
    :raises RootError: something there cannot be read.
    """
    return Plan(found.layout, tuple(_Resize(node, old, new, found).steps()))


class _Resize:
    def __init__(self, node: NodeConfig, old: Sequence[Pod], new: Sequence[Pod], found: FoundTree) -> None:
        self.node = node
        self.found = found
        self.old = old
        self.former = {
            cgroup.pod.uid: cgroup for cgroup in wanted_tree(node, old) if cgroup.level == "pod" and cgroup.pod
        }
        self.after = wanted_tree(node, new)
        self.of_pod: dict[str, WantedCgroup] = {}
        self.containers_of: dict[str, list[WantedCgroup]] = {}
        for cgroup in self.after:
            if cgroup.level == "pod" and cgroup.pod is not None:
                self.of_pod[cgroup.pod.uid] = cgroup
            elif cgroup.level == "container" and cgroup.pod is not None and not cgroup.is_pod_sandbox:
                self.containers_of.setdefault(cgroup.pod.uid, []).append(cgroup)
        before, after = {pod.uid: pod for pod in old}, {pod.uid: pod for pod in new}
        for pod in (*old, *new):
            if not (pod.uid in before and pod.uid in after):
                raise ResizeRefusedError(
                    f"{pod} with UID {pod.uid} is only in one of both, so it is not resized",
                    path=pod.source,
                    todo="give the same pods before and after",
                )
        resized = [(before[pod.uid], pod) for pod in new if not pod.ended]
        self.pods = [(was, pod) for was, pod in resized if _resources(was) != _resources(pod)]

    def steps(self) -> Iterator[Step]:
        now = {pod.uid: pod for pod in self.old if not pod.ended}
        for old, new in self.pods:
            check_resize(self.node, old, new)
            check_fit(self.node, new, (pod for uid, pod in now.items() if uid != new.uid))
            now[new.uid] = new
            if not isinstance(self.found.fs, NoFiles):
                limits = (self.former[old.uid].limits.memory, self.of_pod[new.uid].limits.memory)
                check_memory_in_use(self.node, old, new, limits, partial(self._usage, new))
        above = [cgroup for cgroup in self.after if cgroup.level in ("node", "qos")]
        yield from self._changes_of_all(above, "make")
        for old, new in self.pods:
            yield from self._pod(old, new)
        yield from self._changes_of_all(reversed(above), "lower")

    def _pod(self, old: Pod, new: Pod) -> Iterator[Step]:
        cgroup, containers = self.of_pod[new.uid], self.containers_of[new.uid]
        anew = {b.name for a, b in pairs(old, new) if any(_change(a, b, old, new, name) for name in b.restart_on)}
        restarted = [each for each in containers if each.container is not None and each.container.name in anew]
        for container in restarted:
            there = self.found.get(container.path)
            yield from remove_steps([there] if there else [], self.found.layout, "resizePolicy: RestartContainer")
        resources: tuple[Resource, ...] = ("memory", "cpu")
        for resource in resources:
            yield from self._changes_of(cgroup, (*_LIMITS[resource], *_REQUESTS[resource]), "make")
            for container in self._in_order(old, new, resource):
                if container not in restarted:
                    yield from self._changes_of(container, _OF_CONTAINERS[resource], None)
            yield from self._changes_of(cgroup, (*_REQUESTS[resource], *_LIMITS[resource]), "lower")
        for container in restarted:
            yield from self._made_anew(container)

    def _in_order(self, old: Pod, new: Pod, resource: Resource) -> list[WantedCgroup]:
        """The containers whose resource changes: those that shrink, in reverse, and then those that grow."""
        by_name = {each.container.name: each for each in self.containers_of[new.uid] if each.container is not None}
        ordered: list[WantedCgroup] = []
        for a, b in pairs(old, new):
            change = _change(a, b, old, new, resource)
            if change:
                ordered.insert(len(ordered) if change > 0 else 0, by_name[b.name])
        return ordered

    def _made_anew(self, cgroup: WantedCgroup) -> Iterator[Step]:
        layout = self.found.layout
        for hierarchy in layout.hierarchies:
            path = layout.directory(hierarchy, cgroup.path)
            yield Step("mkdir", path, cgroup.path, "the container starts again", cgroup.owner)
        for knob in knobs_of(layout, cgroup.limits):
            setting = knob.setting(cgroup.limits)
            if setting is not None:
                yield from self._writes(cgroup, knob, knob.default, setting, "make")

    def _changes_of_all(self, cgroups: Iterable[WantedCgroup], during: Pass) -> Iterator[Step]:
        for cgroup in cgroups:
            fields = [knob.field for knob in knobs_of(self.found.layout, cgroup.limits)]
            yield from self._changes_of(cgroup, fields, during)

    def _changes_of(self, cgroup: WantedCgroup, fields: Iterable[Field], during: Pass | None) -> Iterator[Step]:
        """The writes of the fields that grow (``make``) or shrink (``lower``); None: of both."""
        knobs = {knob.field: knob for knob in knobs_of(self.found.layout, cgroup.limits)}
        for knob in (knobs[field] for field in fields if field in knobs):
            new, old = knob.setting(cgroup.limits), self._setting(cgroup, knob)
            if new is None or all(map(knob.same, new, old, knob.files)):
                continue
            direction: Pass = "make" if _size(knob, new) > _size(knob, old) else "lower"
            if during in (None, direction):
                yield from self._writes(cgroup, knob, old, new, direction)

    def _setting(self, cgroup: WantedCgroup, knob: Knob) -> Setting:
        there = self.found.get(cgroup.path)
        if there is None:
            raise RootError(
                f"/{cgroup.path}: does not exist, so it cannot be resized", path=cgroup.path, todo="apply the old pods"
            )
        return there.setting(knob) or knob.default

    def _writes(self, cgroup: WantedCgroup, knob: Knob, old: Setting, new: Setting, during: Pass) -> Iterator[Step]:
        shown = dict(zip(knob.files, old, strict=True))
        for file, text in knob.writes(old, new):
            path = self.found.layout.file(knob.controller, cgroup.path, file)
            why = cgroup.why(knob.field) + _beyond_a_kubelet(cgroup, knob, self.node.version)
            yield Step("write", path, cgroup.path, why, cgroup.owner, text, shown[file], knob, during)
            shown[file] = text

    def _usage(self, pod: Pod, container: Container | None) -> int:
        cgroup = self.of_pod[pod.uid]
        if container is not None:
            cgroup = next(each for each in self.containers_of[pod.uid] if each.container == container)
        name = "memory.usage_in_bytes" if self.found.layout.version == 1 else "memory.current"
        path = self.found.layout.file("memory", cgroup.path, name)
        try:
            return int(self.found.fs.read(path))
        except OSError as failed:
            number = failed.errno or 0
            raise RootError(f"{path}: cannot be read: {errno_name(number)}", path=path, errno=number) from None


def _resources(pod: Pod) -> object:
    each = [(c.name, c.limits, c.requests, c.sidecar) for c in pod.all_containers]
    return each, pod.limits, pod.requests, pod.overhead


def _change(a: Container, b: Container, old: Pod, new: Pod, resource: str) -> int:
    """1 if a resource of a container goes up, -1 if it goes down, 0 if it stays.

    The limit decides, or the request if the limit stays. A container without a limit has the pod's.
    """
    limits = _limit(a, old, resource), _limit(b, new, resource)
    requests = a.requests.get(resource, ZERO), b.requests.get(resource, ZERO)
    for before, after in (limits, requests):
        if before.nano != after.nano:
            return 1 if after.nano > before.nano else -1
    return 0


def _limit(container: Container, pod: Pod, resource: str) -> Quantity:
    own = container.limits.get(resource, ZERO)
    return pod.limits.get(resource, ZERO) if own.is_zero() else own


def _beyond_a_kubelet(cgroup: WantedCgroup, knob: Knob, version: KubeletVersion) -> str:
    if cgroup.level in ("node", "qos"):
        return "; a kubelet does this within a minute"
    left = cgroup.level == "pod" and knob.field in _REQUESTS["memory"] and not version.at_least(37)
    return "; a kubelet leaves it as it was" if left else ""


def _size(knob: Knob, setting: Setting) -> float:
    return int(setting[0]) if knob.field == "shares" else knob.size(setting)
