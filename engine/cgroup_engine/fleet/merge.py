"""Joins what was found on nodes. The order in which they come makes no difference."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cgroup_engine.fleet.evaluate import Result
from cgroup_engine.fleet.finding import Finding
from cgroup_engine.views.takes_effect import EFFECTS

MOST_ERRORS = 1000
VERSION = 1
"""Of the JSON."""


@dataclass
class Node:
    """A node of the result: its rules, and how many of its pods they are about."""

    name: str
    rules: list[str]
    error: str
    pods: int
    facts: dict[str, str]
    weight: int = 0


@dataclass
class Fleet:
    """What was found on all nodes so far."""

    findings: dict[str, Finding] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    more_errors: int = 0
    pods: int = 0
    containers: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Adds what was found on one node."""
        rules: Counter[str] = Counter()
        for finding in result.findings:
            rules[finding.rule] += max(finding.pods, finding.containers, 1)
            if finding.rule in self.findings:
                self.findings[finding.rule].add(finding)
            else:
                self.findings[finding.rule] = finding
        self.nodes.append(
            Node(result.name, sorted(rules), result.error, result.pods, dict(result.facts), rules.total())
        )
        for line in result.errors:
            self.tell(line)
        self.pods += result.pods
        self.containers += result.containers

    def tell(self, line: str) -> None:
        """Notes something that cannot be used."""
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(line)
        else:
            self.more_errors += 1

    @property
    def ranked(self) -> list[Finding]:
        """The findings: what takes a drain first, then those of the most nodes."""
        return sorted(
            self.findings.values(), key=lambda one: (-EFFECTS.index(one.effect), -one.nodes, -one.pods, one.rule)
        )

    @property
    def worst_nodes(self) -> list[Node]:
        """The nodes: those that cannot be looked at, then those with the most found."""
        return sorted(self.nodes, key=lambda node: (not node.error, -len(node.rules), -node.weight, node.name))

    def data(self) -> dict[str, Any]:
        """As plain data."""
        errors = sorted(self.errors)
        if self.more_errors:
            errors.append(f"{self.more_errors} more")
        return {
            "version": VERSION,
            "findings": [finding.data() for finding in self.ranked],
            "nodes": [
                {"name": node.name, "findings": node.rules, "error": node.error or None} for node in self.worst_nodes
            ],
            "errors": errors,
        }
