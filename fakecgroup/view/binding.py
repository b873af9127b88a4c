"""Whose limit acts on a cgroup: its own, or that of an ancestor with less left."""

from __future__ import annotations

from collections.abc import Sequence

from .node import Meter, Node


def bind(nodes: Sequence[Node]) -> None:
    """Sets `bound_by` of all meters.

    The limit with the least left acts first: a charge is tried in each ancestor (page_counter_try_charge). Of a
    resource whose use nobody knows, and of CPU time, the lowest limit does. The nearest of equal ones is named.
    """
    best: list[dict[str, tuple[float, int]]] = []
    for number, node in enumerate(nodes):
        found = {} if node.parent is None else dict(best[node.parent])
        for meter in node.meters:
            left = _left(meter)
            if left is not None and (meter.resource not in found or left <= found[meter.resource][0]):
                found[meter.resource] = (left, number)
        best.append(found)
        for meter in node.meters:
            if meter.resource in found:
                meter.bound_by = found[meter.resource][1]


def _left(meter: Meter) -> float | None:
    if meter.limit is None:
        return None
    if meter.unit == "cpus" or meter.used is None:
        return meter.limit
    return meter.limit - meter.used
