"""The differences between two wanted trees of the same pods, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.views.explain import node_data, value_data, values_of

Side = tuple[NodeConfig, Sequence[WantedCgroup]]


def difference(here: Side, there: Side, pod_name: str | None = None) -> dict[str, Any]:
    """Every difference as plain data: ``for`` (whose), ``what``, ``from`` and ``to``; a missing side is None.

    ``what`` is "cgroup" (the path), "qos_class", "oom_score_adj", or a value as ``explain`` names it. A cgroup that is
    on one side only gives a difference for each of these. ``pod_name`` (NAMESPACE/NAME): that pod alone.
    """
    rows = list(_rows(here, there))
    if pod_name is not None:
        rows = [
            row for row in rows if row["for"] == pod_name or row["for"].startswith((f"{pod_name}/", f"{pod_name} "))
        ]
    return {"from": node_data(here[0]), "to": node_data(there[0]), "differences": rows}


def _rows(here: Side, there: Side) -> Iterator[dict[str, Any]]:
    described = [{_key(cgroup): _described(cgroup, side) for cgroup in side[1]} for side in (here, there)]
    for key in dict.fromkeys((*described[0], *described[1])):
        before, after = (side.get(key, {}) for side in described)
        for what in dict.fromkeys((*before, *after)):
            old, new = before.get(what), after.get(what)
            if _compared(old) != _compared(new):
                yield {"for": key[1], "what": what, "from": old, "to": new}


def _key(cgroup: WantedCgroup) -> tuple[str, str]:
    """The identity of a cgroup on both sides, even if its path differs: level, pod UID and owner."""
    uid = f"{cgroup.pod.uid}" if cgroup.pod is not None else ""
    return f"{cgroup.level} {uid}", cgroup.owner if cgroup.level != "root" else f"cgroupRoot {cgroup.path}"


def _described(cgroup: WantedCgroup, side: Side) -> dict[str, Any]:
    node, _ = side
    data: dict[str, Any] = {"cgroup": cgroup.path}
    if cgroup.level == "pod":
        data["qos_class"] = cgroup.qos
    if cgroup.oom_score_adj is not None:
        data["oom_score_adj"] = cgroup.oom_score_adj
    for value in values_of(cgroup):
        data[value.field] = value_data(value, node)
    return data


def _compared(described: Any) -> Any:
    return (described["v1"], described["v2"]) if isinstance(described, dict) else described
