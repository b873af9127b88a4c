"""Reads a scenario from YAML. All scalars are text, so that 5.10 and 259:0 mean what they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

import yaml

from ..machine.options import READERS
from ..machine.size import parse_size
from ..simulation.words import parse_count, parse_duration
from ..simulation.workload import Workload
from .scenario import At, CgroupSetup, Expectation, Placed, Scenario, Write

_KEYS = ("machine", "seed", "cgroups", "workloads", "at", "expect")
_WORKLOAD_KEYS = ("name", "cgroup", "instances", "threads", "nice", "oom_score_adj", "delay", "loop", "phases")
_MACHINE = {name.replace("_", "-"): name for name in READERS if name != "version"}
_EXPECT_KEYS = ("time", "file", "key", "has", "between", "killed", "cgroup")
_KILLED_MOST = 10**9
_BIGGEST = 4 << 20  # characters
_SEED_MOST = (1 << 63) - 1

_T = TypeVar("_T")


class ScenarioError(ValueError):
    """A scenario is wrong: one line, with the place."""


def read_scenario(text: str, name: str = "scenario") -> Scenario:
    """The scenario of a YAML text; `name` is the file's, for messages. Raises ScenarioError."""
    return _Reader(name).scenario(text)


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name

    def scenario(self, text: str) -> Scenario:
        if len(text) > _BIGGEST:
            raise ScenarioError(f"{self._name}: more than {_BIGGEST >> 20} MiB: no scenario is that long")
        try:
            node = yaml.compose(text, Loader=yaml.BaseLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            where = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
            raise ScenarioError(f"{self._name}{where}: {error.problem}") from None
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            raise ScenarioError(f"{self._name}: this is no YAML: {str(error).splitlines()[0]}") from None
        if node is None:
            raise ScenarioError(f"{self._name}: it is empty")
        parts = self._mapping(node, _KEYS)
        return Scenario(
            {_MACHINE[key]: self._text(value) for key, value in self._machine(parts.get("machine")).items()},
            self._read(parts["seed"], lambda text: parse_count(text, 0, _SEED_MOST)) if "seed" in parts else None,
            tuple(self._cgroup(key, value) for key, value in self._pairs(parts.get("cgroups"))),
            tuple(self._workload(item) for item in self._items(parts.get("workloads"))),
            tuple(self._at(item) for item in self._items(parts.get("at"))),
            tuple(self._expectation(item) for item in self._items(parts.get("expect"))),
        )

    # -- parts --------------------------------------------------------------------------------------

    def _machine(self, node: yaml.Node | None) -> dict[str, yaml.Node]:
        machine = {} if node is None else self._mapping(node, tuple(_MACHINE))
        for key, value in machine.items():
            self._read(value, READERS[_MACHINE[key]])
        return machine

    def _cgroup(self, key: yaml.Node, node: yaml.Node) -> CgroupSetup:
        path = self._path(key)
        files = [] if self._is_empty(node) else self._pairs(node)
        writes = tuple(write for file, value in files for write in self._writes(f"{path}/{self._text(file)}", value))
        return CgroupSetup(path, writes, self._place(key))

    def _writes(self, path: str, node: yaml.Node) -> Iterator[Write]:
        values = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for value in values:
            yield Write(path, _plain(path, self._text(value)), self._place(value))

    def _workload(self, node: yaml.Node) -> Placed:
        parts = self._mapping(node, _WORKLOAD_KEYS)
        for key in ("cgroup", "phases"):
            if key not in parts:
                raise self._wrong(node, f"{key} is missing")
        cgroup = parts["cgroup"]
        paths = [self._path(item) for item in self._items(cgroup)] if _is_list(cgroup) else [self._path(cgroup)]
        phases = []
        for item in self._items(parts["phases"]):
            phases.append({self._text(key): self._text_or_words(value) for key, value in self._pairs(item)})
        words = {key: self._text(value) for key, value in parts.items() if key not in ("cgroup", "phases")}
        try:
            return Placed(tuple(paths), Workload(phases, **words), self._place(node))
        except ValueError as error:
            raise self._wrong(node, str(error)) from None

    def _at(self, node: yaml.Node) -> At:
        parts = self._mapping(node, ("time", "write"), needed=("time", "write"))
        writes = [
            write for file, value in self._pairs(parts["write"]) for write in self._writes(self._path(file), value)
        ]
        return At(self._read(parts["time"], parse_duration), tuple(writes))

    def _expectation(self, node: yaml.Node) -> Expectation:
        parts = self._mapping(node, _EXPECT_KEYS, needed=("time",))
        if "killed" in parts:
            return self._expected_kills(node, parts)
        if "file" not in parts:
            raise self._wrong(node, "one of file and killed is needed")
        if "cgroup" in parts:
            raise self._wrong(parts["cgroup"], "cgroup goes with killed; a file has its cgroup in its path")
        if ("has" in parts) == ("between" in parts):
            raise self._wrong(node, "one of has and between is needed")
        if "key" in parts and "has" in parts:
            raise self._wrong(parts["key"], "key goes with between; has is a whole line")
        between = None
        if "between" in parts:
            bounds = self._items(parts["between"])
            if len(bounds) != 2:
                raise self._wrong(parts["between"], "between takes two numbers, [LEAST, MOST]")
            between = (self._read(bounds[0], _number), self._read(bounds[1], _number))
            if between[0] > between[1]:
                raise self._wrong(parts["between"], "the first number is greater than the second")
        return Expectation(
            self._read(parts["time"], parse_duration),
            self._path(parts["file"]),
            self._text(parts["key"]) if "key" in parts else None,
            self._text(parts["has"]) if "has" in parts else None,
            between,
            self._place(node),
        )

    def _expected_kills(self, node: yaml.Node, parts: dict[str, yaml.Node]) -> Expectation:
        for key in ("file", "key", "has", "between"):
            if key in parts:
                raise self._wrong(parts[key], f"{key} does not go with killed")
        return Expectation(
            self._read(parts["time"], parse_duration),
            None,
            None,
            None,
            None,
            self._place(node),
            self._read(parts["killed"], lambda text: parse_count(text, 0, _KILLED_MOST)),
            self._path(parts["cgroup"]) if "cgroup" in parts else None,
        )

    # -- nodes --------------------------------------------------------------------------------------

    def _mapping(self, node: yaml.Node, keys: tuple[str, ...], needed: tuple[str, ...] = ()) -> dict[str, yaml.Node]:
        found: dict[str, yaml.Node] = {}
        for key, value in self._pairs(node):
            name = self._text(key)
            if name not in keys:
                raise self._wrong(key, f"no key {name!r}; there is {', '.join(keys)}")
            found[name] = value
        for name in needed:
            if name not in found:
                raise self._wrong(node, f"{name} is missing")
        return found

    def _pairs(self, node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
        if node is None:
            return []
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(node, "a mapping is needed here (key: value)")
        seen = set()
        for key, _ in node.value:
            name = self._text(key)
            if name in seen:
                raise self._wrong(key, f"{name!r} is here twice")
            seen.add(name)
        return list(node.value)

    def _items(self, node: yaml.Node | None) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self._wrong(node, "a list is needed here")
        return list(node.value)

    def _text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._wrong(node, "a single value is needed here")
        return str(node.value)

    def _text_or_words(self, node: yaml.Node) -> object:
        """A phase's value: text, or words that `Workload` refuses by the name of their key."""
        return str(node.value) if isinstance(node, yaml.ScalarNode) else {}

    def _path(self, node: yaml.Node) -> str:
        text = self._text(node).strip("/")
        if any(part in ("", ".", "..") for part in text.split("/")) or "\0" in text:
            raise self._wrong(node, f"{text!r} is no path below the root")
        return text

    def _is_empty(self, node: yaml.Node) -> bool:
        return isinstance(node, yaml.ScalarNode) and node.value in ("", "~", "null")

    def _read(self, node: yaml.Node, reader: Callable[[str], _T]) -> _T:
        try:
            return reader(self._text(node))
        except ScenarioError:
            raise
        except ValueError as error:
            raise self._wrong(node, str(error)) from None

    def _place(self, node: yaml.Node) -> str:
        mark = node.start_mark
        return f"{self._name}:{mark.line + 1}:{mark.column + 1}"

    def _wrong(self, node: yaml.Node, what: str) -> ScenarioError:
        return ScenarioError(f"{self._place(node)}: {what}")


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
