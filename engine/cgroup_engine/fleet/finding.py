"""What is found on nodes, by rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cgroup_engine.views.takes_effect import Effect

_REASONS = 5  # that are told of a rule


@dataclass(slots=True)
class Finding:
    """A rule that has found something, on one node or on many.

    `tightest` is (amount, its text, for whom): the least new limit. `worst` is (how bad, from, to, for whom).
    `reasons` counts texts that say why.
    """

    rule: str
    effect: Effect
    nodes: int = 1
    pods: int = 0
    containers: int = 0
    tightest: tuple[float, str, str] | None = None
    worst: tuple[float, str, str, str] | None = None
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, other: Finding) -> None:
        """Adds what the rule has found on another node."""
        self.nodes += other.nodes
        self.pods += other.pods
        self.containers += other.containers
        self.reasons.update(other.reasons)
        if other.tightest is not None and (self.tightest is None or other.tightest < self.tightest):
            self.tightest = other.tightest
        # of equal ones the first by name, in whatever order nodes come
        if other.worst is not None and (self.worst is None or _rank(other.worst) < _rank(self.worst)):
            self.worst = other.worst

    def of_node(self, node: str) -> Finding:
        """The same, with the node's name beside whom it is about."""
        if self.tightest is not None:
            self.tightest = (*self.tightest[:2], _on(self.tightest[2], node))
        if self.worst is not None:
            self.worst = (*self.worst[:3], _on(self.worst[3], node))
        return self

    def data(self) -> dict[str, Any]:
        """As plain data, with the names of the contract."""
        data: dict[str, Any] = {
            "rule": self.rule,
            "nodes": self.nodes,
            "pods": self.pods,
            "containers": self.containers,
            "takesEffect": self.effect,
            "tightest": None,
            "worst": None,
        }
        if self.tightest is not None:
            data["tightest"] = {"value": self.tightest[1], "for": self.tightest[2]}
        if self.worst is not None:
            data["worst"] = {"from": self.worst[1], "to": self.worst[2], "for": self.worst[3]}
        if self.reasons:
            ranked = sorted(self.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
            data["reasons"] = [{"text": text, "nodes": count} for text, count in ranked[:_REASONS]]
        return data


def _on(whom: str, node: str) -> str:
    return f"{whom} on {node}" if whom and whom != node else node


def _rank(worst: tuple[float, str, str, str]) -> tuple[float, str, str, str]:
    return (-worst[0], worst[3], worst[1], worst[2])
