"""Reads a scenario from YAML. All scalars are text, so that 5.10 and 259:0 mean what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from ..machine.options import READERS
from ..machine.size import parse_size
from ..simulation.words import parse_count, parse_duration
from ..simulation.workload import Workload
from .scenario import At, CgroupSetup, Expectation, Placed, Scenario, Write
from .yaml_nodes import ScenarioError, YamlNodes, compose

__all__ = ["ScenarioError", "read_scenario", "scenario_of"]

_KEYS = ("machine", "seed", "cgroups", "workloads", "at", "expect")
_WORKLOAD_KEYS = (
    "name",
    "cgroup",
    "instances",
    "threads",
    "nice",
    "oom_score_adj",
    "delay",
    "loop",
    "restart",
    "phases",
)
_MACHINE = {name.replace("_", "-"): name for name in READERS if name != "version"}
_EXPECT_KEYS = ("time", "file", "key", "has", "between", "killed", "cgroup")
_KILLED_MOST = 10**9
_SEED_MOST = (1 << 63) - 1


def read_scenario(text: str, name: str = "scenario") -> Scenario:
    """The scenario of a YAML text; `name` is the file's, for messages. Raises ScenarioError."""
    return scenario_of(compose(text, name), name)


def scenario_of(node: yaml.Node, name: str) -> Scenario:
    """The scenario of a YAML node. Raises ScenarioError."""
    return _Reader(name).scenario(node)


class _Reader(YamlNodes):
    def scenario(self, node: yaml.Node) -> Scenario:
        parts = self.mapping(node, _KEYS)
        return Scenario(
            {_MACHINE[key]: self.text(value) for key, value in self._machine(parts.get("machine")).items()},
            self.read(parts["seed"], lambda text: parse_count(text, 0, _SEED_MOST)) if "seed" in parts else None,
            tuple(self._cgroup(key, value) for key, value in self.pairs(parts.get("cgroups"))),
            tuple(self._workload(item) for item in self.items(parts.get("workloads"))),
            tuple(self._at(item) for item in self.items(parts.get("at"))),
            tuple(self._expectation(item) for item in self.items(parts.get("expect"))),
        )

    # -- parts --------------------------------------------------------------------------------------

    def _machine(self, node: yaml.Node | None) -> dict[str, yaml.Node]:
        machine = {} if node is None else self.mapping(node, tuple(_MACHINE))
        for key, value in machine.items():
            self.read(value, READERS[_MACHINE[key]])
        return machine

    def _cgroup(self, key: yaml.Node, node: yaml.Node) -> CgroupSetup:
        path = self.path(key)
        files = [] if self.is_empty(node) else self.pairs(node)
        writes = tuple(write for file, value in files for write in self._writes(f"{path}/{self.text(file)}", value))
        return CgroupSetup(path, writes, self.place(key))

    def _writes(self, path: str, node: yaml.Node) -> Iterator[Write]:
        values = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for value in values:
            yield Write(path, _plain(path, self.text(value)), self.place(value))

    def _workload(self, node: yaml.Node) -> Placed:
        parts = self.mapping(node, _WORKLOAD_KEYS)
        for key in ("cgroup", "phases"):
            if key not in parts:
                raise self.wrong(node, f"{key} is missing")
        cgroup = parts["cgroup"]
        paths = [self.path(item) for item in self.items(cgroup)] if _is_list(cgroup) else [self.path(cgroup)]
        phases = []
        for item in self.items(parts["phases"]):
            phases.append({self.text(key): self._text_or_words(value) for key, value in self.pairs(item)})
        words = {key: self.text(value) for key, value in parts.items() if key not in ("cgroup", "phases")}
        try:
            return Placed(tuple(paths), Workload(phases, **words), self.place(node))
        except ValueError as error:
            raise self.wrong(self._blamed(node, str(error)), str(error)) from None

    def _blamed(self, node: yaml.Node, problem: str) -> yaml.Node:
        """The node in a workload that a problem begins with, as `phases[0].memory: ` does; with `no key`, the key's."""
        match = re.match(r"[\w.\[\]]+(?=: )", problem)
        for part in re.findall(r"\w+", match[0]) if match is not None else []:
            if isinstance(node, yaml.SequenceNode):
                node = node.value[int(part)]
            else:
                node = next((value for key, value in self.pairs(node) if self.text(key) == part), node)
        unknown = re.search(r": no key '([^']*)'", problem)
        if unknown is not None and isinstance(node, yaml.MappingNode):
            return next((key for key, _ in self.pairs(node) if self.text(key) == unknown[1]), node)
        return node

    def _at(self, node: yaml.Node) -> At:
        parts = self.mapping(node, ("time", "write"), needed=("time", "write"))
        writes = [write for file, value in self.pairs(parts["write"]) for write in self._writes(self.path(file), value)]
        return At(self.read(parts["time"], parse_duration), tuple(writes))

    def _expectation(self, node: yaml.Node) -> Expectation:
        parts = self.mapping(node, _EXPECT_KEYS, needed=("time",))
        if "killed" in parts:
            return self._expected_kills(node, parts)
        if "file" not in parts:
            raise self.wrong(node, "one of file and killed is needed")
        if "cgroup" in parts:
            raise self.wrong(parts["cgroup"], "cgroup goes with killed; a file has its cgroup in its path")
        if ("has" in parts) == ("between" in parts):
            raise self.wrong(node, "one of has and between is needed")
        if "key" in parts and "has" in parts:
            raise self.wrong(parts["key"], "key goes with between; has is a whole line")
        between = None
        if "between" in parts:
            bounds = self.items(parts["between"])
            if len(bounds) != 2:
                raise self.wrong(parts["between"], "between takes two numbers, [LEAST, MOST]")
            between = (self.read(bounds[0], _number), self.read(bounds[1], _number))
            if between[0] > between[1]:
                raise self.wrong(parts["between"], "the first number is greater than the second")
        return Expectation(
            self.read(parts["time"], parse_duration),
            self.path(parts["file"]),
            self.text(parts["key"]) if "key" in parts else None,
            self.text(parts["has"]) if "has" in parts else None,
            between,
            self.place(node),
        )

    def _expected_kills(self, node: yaml.Node, parts: dict[str, yaml.Node]) -> Expectation:
        for key in ("file", "key", "has", "between"):
            if key in parts:
                raise self.wrong(parts[key], f"{key} does not go with killed")
        return Expectation(
            self.read(parts["time"], parse_duration),
            None,
            None,
            None,
            None,
            self.place(node),
            self.read(parts["killed"], lambda text: parse_count(text, 0, _KILLED_MOST)),
            self.path(parts["cgroup"]) if "cgroup" in parts else None,
        )

    def _text_or_words(self, node: yaml.Node) -> object:
        """A phase's value: text, a mapping of texts, or a list, which `Workload` refuses by the name of its key."""
        if isinstance(node, yaml.MappingNode):
            return {self.text(key): self.text(value) for key, value in self.pairs(node)}
        return str(node.value) if isinstance(node, yaml.ScalarNode) else []


def _is_list(node: yaml.Node) -> bool:
    return isinstance(node, yaml.SequenceNode)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if number != number:
        raise ValueError(f"{text!r} is no number")
    return number


def _plain(path: str, text: str) -> str:
    """The text for a file: a Kubernetes size becomes bytes, any other text stays."""
    if re.match(r"(memory|hugetlb)\.", path.rpartition("/")[2]) and not text.isdecimal():
        try:
            return str(parse_size(text))
        except ValueError:
            pass
    return text
