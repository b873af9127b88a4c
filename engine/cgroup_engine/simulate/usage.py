"""--usage: what the pods would use, as a scenario keyed by pods or as kwok's ResourceUsage."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.simulate.kwok import KwokUsage
from cgroup_engine.simulate.pod_names import PodNames, container_name
from cgroup_engine.simulate.wanted_evictions import WantedEviction
from fakecgroup.scenario import Scenario
from fakecgroup.scenario.read import scenario_of
from fakecgroup.scenario.yaml_nodes import YamlNodes, compose_all
from fakecgroup.simulation.words import parse_duration


def read_usage(text: str, name: str, wanted: Sequence[WantedCgroup]) -> tuple[Scenario, tuple[WantedEviction, ...]]:
    """The scenario in a file's text, with the containers' cgroups instead of pods, and the evictions it expects.

    :raises ScenarioError: one line, with the place.
    """
    nodes = compose_all(text, name)
    if all(_kind(node) is not None for node in nodes):
        return Scenario(workloads=KwokUsage(name, nodes).workloads(PodNames(wanted).containers)), ()
    if len(nodes) > 1:
        wrong = next(node for node in nodes if _kind(node) is None)
        raise YamlNodes(name).wrong(wrong, "several documents are kwok's, each with a kind; a scenario is one")
    rewriting = _PodScenario(name, PodNames(wanted))
    return scenario_of(rewriting.with_cgroups(nodes[0]), name), tuple(rewriting.evictions)


def _kind(node: yaml.Node) -> str | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == "kind":
                return str(value.value)
    return None


class _PodScenario(YamlNodes):
    """Replaces `pod` and `container` in a scenario by `cgroup`, and takes the expected evictions out of it."""

    def __init__(self, name: str, names: PodNames) -> None:
        super().__init__(name)
        self._names = names
        self.evictions: list[WantedEviction] = []

    def with_cgroups(self, node: yaml.Node) -> yaml.Node:
        parts = []
        for key, value in self.pairs(node):
            if self.text(key) == "machine":
                raise self.wrong(key, "the machine is the node: its size is given by --cpus, --memory and so on")
            if self.text(key) == "workloads":
                value = self._sequence(value, [self._workload(item) for item in self.items(value)])
            elif self.text(key) == "at":
                value = self._sequence(value, [self._at(item) for item in self.items(value)])
            elif self.text(key) == "expect":
                items = (self._expectation(item) for item in self.items(value))
                value = self._sequence(value, [item for item in items if item is not None])
            parts.append((key, value))
        return yaml.MappingNode(node.tag, parts, node.start_mark, node.end_mark)

    def _workload(self, node: yaml.Node) -> yaml.Node:
        parts = {self.text(key): (key, value) for key, value in self.pairs(node)}
        if "pod" not in parts:
            if "container" in parts:
                raise self.wrong(parts["container"][0], "container goes with pod")
            return node
        if "cgroup" in parts:
            raise self.wrong(parts["cgroup"][0], "cgroup and pod exclude each other")
        cgroup = self._container(parts)
        rest = [pair for name, pair in parts.items() if name not in ("pod", "container")]
        given = {"cgroup": cgroup.path, "name": f"{cgroup.pod}/{container_name(cgroup)}"}
        if cgroup.oom_score_adj is not None:
            given["oom_score_adj"] = str(cgroup.oom_score_adj)
        more = [self._pair(node, name, text) for name, text in given.items() if name not in parts]
        return yaml.MappingNode(node.tag, [*more, *rest], node.start_mark, node.end_mark)

    def _container(self, parts: dict[str, tuple[yaml.Node, yaml.Node]]) -> WantedCgroup:
        pod = self.read(parts["pod"][1], self._names.pod)
        if "container" not in parts:
            return self.read(parts["pod"][1], lambda _: self._names.container(pod, None))
        return self.read(parts["container"][1], lambda name: self._names.container(pod, name))

    def _expectation(self, node: yaml.Node) -> yaml.Node | None:
        parts = {self.text(key): (key, value) for key, value in self.pairs(node)}
        if "evicted" in parts:
            for name, (key, _) in parts.items():
                if name not in ("time", "evicted"):
                    raise self.wrong(key, f"{name} does not go with evicted")
            if "time" not in parts:
                raise self.wrong(node, "time is missing")
            pods = tuple(str(self.read(item, self._names.pod)) for item in self.items(parts["evicted"][1]))
            self.evictions.append(WantedEviction(self.read(parts["time"][1], parse_duration), pods, self.place(node)))
            return None
        if "pod" not in parts:
            return node
        if "cgroup" in parts:
            raise self.wrong(parts["cgroup"][0], "cgroup and pod exclude each other")
        path = self._path_of(parts)
        rest = [pair for name, pair in parts.items() if name not in ("pod", "container", "file")]
        if "file" in parts:
            rest.append((parts["file"][0], self._below(path, parts["file"][1])))
        else:
            rest.append(self._pair(node, "cgroup", path))
        return yaml.MappingNode(node.tag, rest, node.start_mark, node.end_mark)

    def _at(self, node: yaml.Node) -> yaml.Node:
        parts = {self.text(key): (key, value) for key, value in self.pairs(node)}
        if "pod" not in parts:
            return node
        path = self._path_of(parts)
        rest = [pair for name, pair in parts.items() if name not in ("pod", "container", "write")]
        if "write" in parts:
            key, files = parts["write"]
            writes = [(self._below(path, file), text) for file, text in self.pairs(files)]
            rest.append((key, yaml.MappingNode(files.tag, writes, files.start_mark, files.end_mark)))
        return yaml.MappingNode(node.tag, rest, node.start_mark, node.end_mark)

    def _path_of(self, parts: dict[str, tuple[yaml.Node, yaml.Node]]) -> str:
        """The cgroup of a container, or without one of the pod."""
        if "container" in parts:
            return self._container(parts).path
        return self._pod_path(self.read(parts["pod"][1], self._names.pod).uid)

    def _below(self, path: str, file: yaml.Node) -> yaml.Node:
        text = f"{path}/{self.path(file)}"
        return yaml.ScalarNode("tag:yaml.org,2002:str", text, file.start_mark, file.end_mark)

    def _pod_path(self, uid: str) -> str:
        [path, *_] = [one.parent for one in self._names.containers if one.pod is not None and one.pod.uid == uid]
        return path

    def _pair(self, node: yaml.Node, name: str, text: str) -> tuple[yaml.Node, yaml.Node]:
        marks = node.start_mark, node.end_mark
        tag = "tag:yaml.org,2002:str"
        return yaml.ScalarNode(tag, name, *marks), yaml.ScalarNode(tag, text, *marks)

    def _sequence(self, node: yaml.Node, items: list[yaml.Node]) -> yaml.Node:
        return yaml.SequenceNode("tag:yaml.org,2002:seq", items, node.start_mark, node.end_mark)
