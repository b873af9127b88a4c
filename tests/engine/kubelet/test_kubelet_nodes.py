"""Node and QoS levels against the answers of compiled kubelets for the same nodes and pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cgroup_engine.inputs.config.eviction import eviction_memory
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.inputs.pod_defaults import defaulted
from cgroup_engine.inputs.pod_object import decoded
from cgroup_engine.kubelet.allocatable import allocatable, node_limits, over_reserved, reservation, reserved_limits
from cgroup_engine.kubelet.cpu_weight import linear
from cgroup_engine.kubelet.qos_cgroups import qos_limits, request_sums
from cgroup_engine.model import names
from cgroup_engine.model.hugepages import kernel_name
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.model.quantity import Quantity, parse

from ..kubelet_tables import OUTSIDE, nodes_of, outside_directory, sampled_nodes

SAMPLED = {"1.32.10": 32, "1.36.2": 36}
# 1.20.2 is older than the releases known here, but its node and QoS levels are those of 1.24
FULL = {"1.20.2": 24, **SAMPLED}
PAGE_SIZES = (2 << 20, 1 << 30)
# 1.36.2 adds the overhead once more to a fractional memory request of spec.resources with every update: its sums of
# different lists share one map, and such a quantity one pointer. A bug that is not imitated.
FRACTION_GROWS = {("1.36.2", "n127")}


class Node:
    """A recorded node, with the engine's values for it."""

    def __init__(self, row: dict[str, Any], minor: int) -> None:
        self.row = row
        gates = {"MemoryQoS": True} if row["memqos"] and minor >= 32 else {}
        self.version = KubeletVersion(minor, gates)
        self.memory_qos = bool(gates)
        self.kube, self.system = _amounts(row["kube_reserved"]), _amounts(row["system_reserved"])
        self.capacity, self.with_pids = _amounts(row["capacity"]), _amounts(row["internal_capacity"])
        self.allocatable = allocatable(self.capacity, self.kube, self.system)
        self.allocatable_with_pids = allocatable(self.with_pids, self.kube, self.system)
        self.cgroup_root = names.parse_cgroupfs(row["cgroup_root"])

    def path(self, name: tuple[str, ...]) -> str:
        return "/" + names.directory(name, self.row["driver"])

    def kept(self) -> Mapping[str, Quantity]:
        config = ConfigFields({"evictionHard": self.row["eviction_hard"]}, "test", self.version)
        eviction = eviction_memory(config, self.capacity["memory"].value())
        return reservation(self.capacity, self.kube, self.system, eviction)

    def pods_limits(self) -> CgroupLimits:
        """The limits of kubepods that node allocatable sets."""
        enforced = "pods" in self.row["enforce"]
        return node_limits(self.allocatable_with_pids if enforced else self.with_pids)

    def reserved(self) -> dict[str, CgroupLimits]:
        """Path -> limits of the reserved cgroups, enforced or not; of compressible enforcement if that is named."""
        limits = {}
        for key, amounts in (("system-reserved", self.system), ("kube-reserved", self.kube)):
            path = names.parse_reserved(self.row[key.replace("-", "_") + "_cgroup"], self.row["driver"])
            limits[self.path(path)] = reserved_limits(
                amounts,
                PAGE_SIZES,
                compressible_only=f"{key}-compressible" in self.row["enforce"],
                memory_qos=self.memory_qos,
            )
        return limits

    def classes(self) -> dict[str, CgroupLimits]:
        """Path -> limits that UpdateCgroups writes."""
        pods = [defaulted(decoded(item, "test", self.version), self.version) for item in self.row["pods"]]
        sums = request_sums(pods, self.version)
        return {
            self.path(names.qos_name(self.cgroup_root, qos)): qos_limits(
                qos,
                sums,
                self.version,
                page_sizes=PAGE_SIZES,
                reserved_percent=self.row["qos_reserved_memory"],
                allocatable_memory=self.allocatable["memory"].value(),
                memory_qos=self.memory_qos,
                tiered=self.row["memqos"] == "TieredReservation",
            )
            for qos in ("Guaranteed", "Burstable", "BestEffort")
        }


def _amounts(texts: dict[str, str] | None) -> Mapping[str, Quantity]:
    return {name: parse(text) for name, text in (texts or {}).items()}


def _shown(amounts: Mapping[str, Quantity]) -> dict[str, list[Any]]:
    return {name: [str(amount), amount.value(), amount.milli_value()] for name, amount in amounts.items()}


def _without_storage(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: row for name, row in (rows or {}).items() if name != "ephemeral-storage"}


def _as_resource_config(limits: CgroupLimits, mode: str) -> dict[str, Any]:
    """The kubelet's ResourceConfig, without zeros of huge pages: libcontainer's form has those."""
    values = {
        "cpu_shares": limits.shares,
        "memory": limits.memory,
        "pids": limits.pids,
        "hugepages": {str(page): amount for page, amount in limits.hugepages.items() if amount},
        "unified": limits.unified if mode == "v2" else {},
    }
    return {name: value for name, value in values.items() if value is not None}


def _resource_config(row: dict[str, Any], mode: str) -> dict[str, Any]:
    row = {"hugepages": {}, **row, "unified": row.get("unified", {}) if mode == "v2" else {}}
    return {**row, "hugepages": {page: amount for page, amount in row["hugepages"].items() if amount}}


def _as_libcontainer(limits: CgroupLimits, mode: str) -> dict[str, Any]:
    """The values that reach libcontainer: 0 is "not set"; every size of huge pages has a limit."""
    shares = limits.shares or 0
    return {
        "cpu_shares": shares if mode == "v1" else 0,
        "cpu_weight": linear(shares) if mode == "v2" and shares else 0,
        "cpu_quota": 0,
        "cpu_period": 0,
        "memory": limits.memory or 0,
        "pids": limits.pids or 0,
        "hugetlb": {kernel_name(page): limits.hugepages.get(page, 0) for page in PAGE_SIZES},
        "unified": (limits.unified if mode == "v2" else None) or {},
    }


def _libcontainer(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "pids": row["pids"] or 0, "unified": row.get("unified") or {}}


def check_node(row: dict[str, Any], tag: str, minor: int) -> None:
    """Everything the tables say of one node and one version."""
    node = Node(row, minor)
    for mode, expected in row["expected"][tag].items():
        where = (row["id"], tag, mode)
        assert _shown(node.allocatable) == expected["allocatable_absolute"], where
        assert _shown(node.allocatable_with_pids) == expected["allocatable_internal_absolute"], where
        kept = node.kept()
        assert _without_storage(_shown(kept)) == _without_storage(expected["reservation"]), where
        if not any("nodefs" in signal for signal in row["eviction_hard"]):
            assert bool(over_reserved(node.capacity, kept)) == bool(expected.get("validate_error")), where
        assert node.path(names.kubepods_name(node.cgroup_root)) == expected["node_allocatable_root"]

        classes = {} if (tag, row["id"]) in FRACTION_GROWS else node.classes()
        kubepods = {expected["node_allocatable_root"]: node.pods_limits()}
        for step, mine in (
            ("create_node", kubepods),
            ("qos_update", classes),
            ("enforce", {**node.reserved(), **kubepods}),
        ):
            for call in expected[step] if mine else ():
                limits = mine[call["path"]]
                assert _as_resource_config(limits, mode) == _resource_config(call["rc"], mode), (*where, step)
                assert _as_libcontainer(limits, mode) == _libcontainer(call["libct"]), (*where, step)
        if classes:
            written = {call["path"] for call in expected["qos_update"]}
            assert written == set(classes) - ({expected["node_allocatable_root"]} if tag == "1.20.2" else set())


@pytest.mark.parametrize("tag", SAMPLED)
def test_node_and_qos_values_are_the_kubelets(tag: str) -> None:
    rows = sampled_nodes()
    assert len(rows) > 20
    for row in rows:
        check_node(row, tag, SAMPLED[tag])


@pytest.mark.skipif(outside_directory() is None, reason=f"{OUTSIDE} names no directory with the full tables")
@pytest.mark.parametrize("tag", FULL)
def test_all_recorded_node_and_qos_values_are_the_kubelets(tag: str) -> None:
    directory = outside_directory()
    assert directory is not None
    for row in nodes_of(directory, (tag,)):
        check_node(row, tag, FULL[tag])
