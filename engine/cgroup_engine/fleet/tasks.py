"""The tasks of a cluster, a part of its nodes in each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from cgroup_engine.fleet.change import NO_CHANGE, Change
from cgroup_engine.fleet.configs import Configs
from cgroup_engine.fleet.dump import Dump
from cgroup_engine.fleet.evaluate import Result, Task, evaluate
from cgroup_engine.fleet.rules import Usage

PART = 10
"""Nodes that are looked at together."""


@dataclass(frozen=True)
class Versions:
    """Nodes whose cgroup version is known: names, or labels as KEY=VALUE. All other nodes go by their system."""

    v1: frozenset[str] = frozenset()
    v2: frozenset[str] = frozenset()

    def of(self, name: str, labels: object) -> Literal[1, 2] | None:
        """The version of a node, None if it is not known."""
        pairs = {f"{key}={value}" for key, value in labels.items()} if isinstance(labels, dict) else set()
        if pairs & self.v1 or name in self.v1:
            return 1
        return 2 if pairs & self.v2 or name in self.v2 else None


@dataclass(frozen=True)
class Question:
    """What is asked of each node."""

    configs: Configs = field(default_factory=Configs)
    change: Change = NO_CHANGE
    usage: Usage = field(default_factory=dict)
    versions: Versions = field(default_factory=Versions)


def parts(dump: Dump) -> list[list[str]]:
    """The names of the nodes, in parts."""
    names = sorted(dump.nodes)
    return [names[start : start + PART] for start in range(0, len(names), PART)]


def tasks_of(dump: Dump, names: list[str], question: Question) -> Iterator[Task]:
    """The tasks of some nodes."""
    for name in names:
        node = dump.nodes[name]
        labels = node["metadata"].get("labels")
        fields, where = question.configs.of(name, labels if isinstance(labels, dict) else {})
        version = question.versions.of(name, labels)
        yield Task(node, fields, where, dump.pods_of(name), question.change, question.usage, version)


def evaluate_all(tasks: list[Task]) -> list[Result]:
    """Looks at some nodes."""
    return [evaluate(task) for task in tasks]
