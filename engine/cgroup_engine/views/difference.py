"""The differences between two wanted trees of the same pods: value by value, grouped, and in CPU under load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.views.cpu_under_load import cores_under_load
from cgroup_engine.views.explain import Value, node_data, value_data, values_of
from cgroup_engine.views.findings import Change, findings, workload
from cgroup_engine.views.takes_effect import takes_effect

Side = tuple[NodeConfig, Sequence[WantedCgroup]]
_LEAST_CORES = 0.0005  # three digits are shown


def difference(here: Side, there: Side, pod_name: str | None = None) -> dict[str, Any]:
    """Every difference as plain data: ``for`` (whose), ``what``, ``from`` and ``to``; a missing side is None.

    ``what`` is "cgroup" (the path), "qos_class", "oom_score_adj", or a value as ``explain`` names it. A cgroup that is
    on one side only gives a difference for each of these. ``pod_name`` (NAMESPACE/NAME): that pod alone. ``findings``
    groups them. ``cpu_under_load``: cores of each workload whose part changes. ``reboot``: does the machine restart?
    """
    changes = [change for change in changes_between(here, there) if pod_name is None or _is_of(change.cgroup, pod_name)]
    return {
        "from": node_data(here[0]),
        "to": node_data(there[0]),
        "reboot": any(
            getattr(here[0], size) != getattr(there[0], size) for size in ("cpus", "memory", "cgroup_version")
        ),
        "findings": findings(changes, there[0].cgroup_version),
        "cpu_under_load": _cpu_under_load(here, there, pod_name),
        "differences": [
            {
                "for": _owner(change.cgroup),
                "what": change.what,
                "from": _told(change.before, here[0]),
                "to": _told(change.after, there[0]),
                "takes_effect": takes_effect(change.cgroup.level, change.what),
            }
            for change in changes
        ],
    }


def _is_of(cgroup: WantedCgroup, pod_name: str) -> bool:
    return cgroup.pod is not None and str(cgroup.pod) == pod_name


def changes_between(here: Side, there: Side, *, used: bool = False) -> Iterator[Change]:
    """Each value that differs, of all cgroups of both sides; ``used``: only of the cgroup version that a node has."""
    versions = here[0].cgroup_version, there[0].cgroup_version
    moved = versions[0] != versions[1]
    cgroups = [{_key(cgroup): cgroup for cgroup in side[1]} for side in (here, there)]
    for key in dict.fromkeys((*cgroups[0], *cgroups[1])):
        old_cgroup, new_cgroup = (side.get(key) for side in cgroups)
        cgroup = new_cgroup or old_cgroup
        assert cgroup is not None
        if old_cgroup is not None and new_cgroup is not None and not moved and _same(old_cgroup, new_cgroup):
            continue  # to describe both would take ten times as long
        before, after = (
            {} if one is None else _described(one, version if moved or used else None)
            for one, version in zip((old_cgroup, new_cgroup), versions, strict=True)
        )
        for what in dict.fromkeys((*before, *after)):
            old, new = before.get(what), after.get(what)
            if _compared(old, moved) != _compared(new, moved):
                yield Change(cgroup, what, old, new)


def _same(here: WantedCgroup, there: WantedCgroup) -> bool:
    """Are all values of two cgroups the same? Their files' texts follow from the limits alone."""
    return (
        here.limits == there.limits
        and here.path == there.path
        and here.oom_score_adj == there.oom_score_adj
        and here.qos == there.qos
    )


def _key(cgroup: WantedCgroup) -> tuple[str, str]:
    """The identity of a cgroup on both sides, even if its path differs: level, pod UID and owner."""
    uid = f"{cgroup.pod.uid}" if cgroup.pod is not None else ""
    return f"{cgroup.level} {uid}", _owner(cgroup)


def _owner(cgroup: WantedCgroup) -> str:
    return cgroup.owner if cgroup.level != "root" else f"cgroupRoot {cgroup.path}"


def _described(cgroup: WantedCgroup, only: Literal[1, 2] | None) -> dict[str, Any]:
    """What can differ; ``only``: of one cgroup version."""
    data: dict[str, Any] = {"cgroup": cgroup.path}
    if cgroup.level == "pod":
        data["qos_class"] = cgroup.qos
    if cgroup.oom_score_adj is not None:
        data["oom_score_adj"] = cgroup.oom_score_adj
    return {**data, **{value.field: value for value in values_of(cgroup, only)}}


def _compared(described: Any, moved: bool) -> Any:
    """The files of both layouts; ``moved``: to the other layout, whose files may have the same names and texts."""
    if not isinstance(described, Value):
        return described
    return {**described.v1, **described.v2} if moved else (described.v1, described.v2)


def _told(described: Any, node: NodeConfig) -> Any:
    """As plain data."""
    return value_data(described, node) if isinstance(described, Value) else described


def _cpu_under_load(here: Side, there: Side, pod_name: str | None) -> list[dict[str, Any]]:
    """The workloads whose cores change, the greatest change first."""
    sides = [_cores(side, pod_name) for side in (here, there)]
    rows = []
    for name in dict.fromkeys((*sides[0], *sides[1])):
        (old, _), (new, pods) = (side.get(name, (0.0, 0)) for side in sides)
        if abs(new - old) >= _LEAST_CORES:
            rows.append({"workload": name, "pods": pods, "from": round(old, 3), "to": round(new, 3)})
    return sorted(rows, key=lambda row: -abs(row["to"] - row["from"]))


def _cores(side: Side, pod_name: str | None) -> Mapping[str, tuple[float, int]]:
    """Workload -> its cores and pods, when every container is busy."""
    node, wanted = side
    if node.cgroup_version == 2:
        cores = cores_under_load(wanted, node.cpus, lambda limits: limits.weight or 1)
    else:
        cores = cores_under_load(wanted, node.cpus)
    sums: dict[str, tuple[float, int]] = {}
    for cgroup in wanted:
        if cgroup.level == "pod" and cgroup.path in cores and (pod_name is None or _is_of(cgroup, pod_name)):
            name = workload(cgroup)
            total, pods = sums.get(name, (0.0, 0))
            sums[name] = total + cores[cgroup.path], pods + 1
    return sums
