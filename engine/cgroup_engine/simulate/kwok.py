"""kwok's ResourceUsage and ClusterResourceUsage (kwok.x-k8s.io/v1alpha1): what containers use, without end."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from cgroup_engine.errors import QuantityError
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import Quantity, parse
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.simulate.expression import value_of
from cgroup_engine.simulate.pod_names import container_name
from fakecgroup import Workload
from fakecgroup.scenario.scenario import Placed
from fakecgroup.scenario.yaml_nodes import YamlNodes

_ROOT = ("apiVersion", "kind", "metadata", "spec", "status")
_KINDS = ("ResourceUsage", "ClusterResourceUsage")


class KwokUsage(YamlNodes):
    """The documents of a file. A ResourceUsage wins over any ClusterResourceUsage; of these the first that fits counts.

    :raises ScenarioError: one line, with the place.
    """

    def __init__(self, name: str, documents: Sequence[yaml.Node]) -> None:
        super().__init__(name)
        self._documents = [self.mapping(node, _ROOT, needed=("kind", "spec")) for node in documents]
        for parts in self._documents:
            if self.text(parts["kind"]) not in _KINDS:
                raise self.wrong(parts["kind"], f"no kind {self.text(parts['kind'])!r}; there is {', '.join(_KINDS)}")
        self._documents.sort(key=lambda parts: _KINDS.index(self.text(parts["kind"])))

    def workloads(self, containers: Sequence[WantedCgroup]) -> tuple[Placed, ...]:
        """One process for each container that a document fits."""
        found = (self._placed(cgroup) for cgroup in containers)
        return tuple(placed for placed in found if placed is not None)

    def _placed(self, cgroup: WantedCgroup) -> Placed | None:
        assert cgroup.pod is not None
        for parts in self._documents:
            if not self._fits(parts, cgroup.pod):
                continue
            keys = ("selector", "usages")
            for usage in self.items(self.mapping(parts["spec"], keys, needed=("usages",))["usages"]):
                group = self.mapping(usage, ("containers", "usage"), needed=("usage",))
                names = [self.text(item) for item in self.items(group.get("containers"))]
                if not names or container_name(cgroup) in names:
                    return Placed((cgroup.path,), self._workload(group["usage"], cgroup), self.place(usage))
            return None
        return None

    def _fits(self, parts: dict[str, yaml.Node], pod: Pod) -> bool:
        if self.text(parts["kind"]) == "ResourceUsage":
            names = dict(self._texts(parts.get("metadata")))
            return (names.get("namespace", "default"), names.get("name")) == (pod.namespace, pod.name)
        spec = self.mapping(parts["spec"], ("selector", "usages"))
        if "selector" not in spec:
            return True
        selector = self.mapping(spec["selector"], ("matchNamespaces", "matchNames"))
        wanted = {key: [self.text(item) for item in self.items(node)] for key, node in selector.items()}
        return all(
            not names or name in names
            for names, name in (
                (wanted.get("matchNamespaces"), pod.namespace),
                (wanted.get("matchNames"), pod.name),
            )
        )

    def _texts(self, node: yaml.Node | None) -> list[tuple[str, str]]:
        pairs = self.pairs(node)
        return [(self.text(key), self.text(value)) for key, value in pairs if isinstance(value, yaml.ScalarNode)]

    def _workload(self, node: yaml.Node, cgroup: WantedCgroup) -> Workload:
        assert cgroup.pod is not None
        usage = self.mapping(node, ("cpu", "memory"))
        amounts = {name: self._amount(value, cgroup.pod) for name, value in usage.items()}
        phase: dict[str, object] = {"for": "1h"}
        if "cpu" in amounts:
            phase["cpu"] = f"{amounts['cpu'].milli_value()}m"
        if "memory" in amounts:
            phase["memory"] = str(amounts["memory"].value())
        try:
            return Workload(
                [phase],
                name=f"{cgroup.pod}/{container_name(cgroup)}",
                loop="forever",
                oom_score_adj=cgroup.oom_score_adj or 0,
            )
        except ValueError as error:
            raise self.wrong(node, str(error)) from None

    def _amount(self, node: yaml.Node, pod: Pod) -> Quantity:
        parts = self.mapping(node, ("value", "expression"))
        if "value" in parts:
            return self.read(parts["value"], _quantity)
        if "expression" not in parts:
            raise self.wrong(node, "one of value and expression is needed")
        return self.read(parts["expression"], lambda text: _quantity(value_of(text, pod.annotations)))


def _quantity(text: str) -> Quantity:
    try:
        quantity = parse(text)
    except QuantityError as error:
        raise ValueError(str(error)) from None
    if quantity.sign() < 0 or not quantity.fits():
        raise ValueError(f"{text!r} is below zero or more than 2^63-1")
    return quantity
