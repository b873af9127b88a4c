"""The rules of pods and containers against the answers of compiled kubelets for the same pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from cgroup_engine.errors import PodError
from cgroup_engine.inputs.pod_checks import check_pod
from cgroup_engine.inputs.pod_defaults import defaulted
from cgroup_engine.inputs.pod_object import decoded
from cgroup_engine.kubelet.container_values import limits_for_container
from cgroup_engine.kubelet.cpu_weight import linear, quadratic
from cgroup_engine.kubelet.memory_qos import MemoryReservationPolicy, container_protection, memory_high, pod_protection
from cgroup_engine.kubelet.pod_values import limits_for_pod
from cgroup_engine.kubelet.qos import oom_score_adj, qos_class
from cgroup_engine.kubelet.resources import limits_for_overhead, limits_for_sandbox, pod_limits, pod_requests
from cgroup_engine.kubelet.swap import NodeSwap, swap_limit
from cgroup_engine.model import names
from cgroup_engine.model.hugepages import hugepage_limits
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.limits import CfsQuota, CgroupLimits
from cgroup_engine.model.names import QosClass
from cgroup_engine.model.pod import Container, Pod
from cgroup_engine.model.quantity import ZERO, Quantity, parse

from ..kubelet_tables import OUTSIDE, functions_of, outside_directory, pods_of, sampled_pods
from ..model.test_quantity import check_text
from .test_shares import check_conversion

SAMPLED = {"1.32.10": 32, "1.36.2": 36}
FULL = {"1.20.2": 20, **SAMPLED}  # older than the engine's range, but its rules are known too
GIB = 1 << 30
PAGES = {"2MB": 2 << 20, "1GB": 1 << 30}
CONTAINER_MODES = {
    "cfs1_p100000_g0": CfsQuota(),
    "cfs0": CfsQuota(enforced=False),
    # without the gate the quota is computed for 100 ms, whatever period is handed on
    "cfs1_p10000_g0": CfsQuota(),
    "cfs1_p10000_g1": CfsQuota(period_us=10_000),
}


def check_answers(recorded: dict[str, Any], tag: str, minor: int) -> None:
    """A pod of table A: everything that the kubelet computed from it and from its containers."""
    for row in recorded["answers"][tag]:
        gates = {"PodLevelResources": row["plr"] == "on"} if row.get("plr") else {}
        version = KubeletVersion(minor, gates)
        pod = decoded(recorded["pod"], recorded["id"], version)
        # the table is of the object alone; a mirror pod's cgroup is its static pod's
        pod = replace(pod, uid=recorded["pod"]["metadata"].get("uid", pod.uid))
        if row["mode"] == "defaulted":
            pod = defaulted(pod, version)
        where = (recorded["id"], tag, row["mode"], row.get("plr"))
        check_class(pod, row, version, where)
        check_pod_values(pod, row, version, where)
        check_sums(pod, row, version, where)
        check_sandbox(pod, row, version, where)
        containers = {container.name: container for container in pod.all_containers}
        for answer in row["containers"]:
            container = containers[answer["name"]]
            check_container_values(container, pod, answer["res"], version, where)
            check_unified(container, pod, row["qos"], answer["res"], version, where)
            for capacity, score in answer["oom_score_adj"].items():
                assert oom_score_adj(pod, container, parse(capacity).value(), version) == score, (where, capacity)


def check_class(
    pod: Pod, row: dict[str, Any], version: KubeletVersion, where: tuple[str, str, str, str | None]
) -> None:
    qos = qos_class(pod, version)
    assert qos == row["qos"], where
    for driver, path in row["cgroup"].items():
        assert "/" + names.directory(names.pod_name((), qos, pod.uid), driver) == path, where


def check_pod_values(
    pod: Pod, row: dict[str, Any], version: KubeletVersion, where: tuple[str, str, str, str | None]
) -> None:
    for key, values in row["rc"].items():
        enforced, period, gate = key.split("_")
        period_us = int(period[1:])
        cfs = CfsQuota(enforced == "e1", period_us if gate == "g1" else 100_000)
        limits = limits_for_pod(pod, row["qos"], cfs, version)
        mine = {
            "cpu_shares": limits.shares,
            "cpu_quota": limits.quota_us,
            "cpu_period": None if limits.period_us is None else period_us,
            "memory": limits.memory,
            "hugepages": {str(size): number for size, number in limits.hugepages.items()} or None,
        }
        assert {name: value for name, value in mine.items() if value is not None} == values, (where, key)
    for policy, values in row.get("memqos_unified", {}).items():
        request = pod_requests(pod, version).get("memory", ZERO).value()
        least, low = pod_protection(request, row["qos"], _policy(policy), version)
        assert CgroupLimits(memory_min=least, memory_low=low).unified == (values or {}), (where, policy)


def check_sums(pod: Pod, row: dict[str, Any], version: KubeletVersion, where: tuple[str, str, str, str | None]) -> None:
    for name, sums in (("sum_requests", pod_requests(pod, version)), ("sum_limits", pod_limits(pod, version))):
        mine = {key: [str(amount), amount.value(), amount.milli_value()] for key, amount in sums.items()}
        assert mine == (row[name] or {}), (where, name)


def check_sandbox(
    pod: Pod, row: dict[str, Any], version: KubeletVersion, where: tuple[str, str, str, str | None]
) -> None:
    of_sandbox, of_overhead = limits_for_sandbox(pod, CfsQuota(), version), limits_for_overhead(pod, CfsQuota())
    for key, limits in (("resources", of_sandbox), ("overhead", of_overhead)):
        if "sandbox" in row:
            mine = {
                "cpu_shares": limits.shares or 0,
                "cpu_quota": limits.quota_us or 0,
                "cpu_period": limits.period_us or 0,
                "memory": limits.memory or 0,
                "oom_score_adj": 0,
            }
            theirs = {name: value for name, value in row["sandbox"][key].items() if name != "unified"}
            assert mine == theirs, (where, key)


def check_container_values(
    container: Container,
    pod: Pod,
    answers: dict[str, dict[str, Any]],
    version: KubeletVersion,
    where: tuple[str, str, str, str | None],
) -> None:
    for mode in CONTAINER_MODES.keys() & answers.keys():
        limits = limits_for_container(container, pod, CONTAINER_MODES[mode], version)
        mine = {
            "cpu_shares": limits.shares,
            "cpu_quota": limits.quota_us or 0,
            "cpu_period": limits.period_us or 0,
            "memory": limits.memory or 0,
            "hugepages": {name: limits.hugepages.get(size, 0) for name, size in PAGES.items()},
        }
        theirs = {name: value for name, value in answers[mode].items() if name != "oom_score_adj"}
        assert mine == theirs, (where, container.name, mode)


def check_unified(
    container: Container,
    pod: Pod,
    qos: QosClass,
    answers: dict[str, dict[str, Any]],
    version: KubeletVersion,
    where: tuple[str, str, str, str | None],
) -> None:
    """The files of cgroup v2 alone, by mode: MemoryQoS, swap, singleProcessOOMKill."""
    for mode in answers.keys() - CONTAINER_MODES.keys():
        memory = limits_for_container(container, pod, CfsQuota(), version).memory or 0
        if mode == "v1_swapctl":
            assert answers[mode].get("memory_swap", 0) == memory, (where, container.name, mode)
            continue
        values: dict[str, Any] = {}
        if "mqos" in mode:
            request = container.requests.get("memory", ZERO).value()
            limit = container.limits.get("memory", ZERO).value()
            least, low = container_protection(request, qos, _policy(mode), version)
            high = memory_high(request, limit, 7 * GIB, 0.8 if mode.endswith("t0.8") else 0.9, version)
            values |= {"memory_min": least, "memory_low": low, "memory_high": high}
        if "swap" in mode:
            node = NodeSwap(8 * GIB, 2 * GIB, "LimitedSwap" if mode.endswith("Limited") else "NoSwap")
            values["swap"] = swap_limit(container, pod, qos, memory, node, version)
        if mode == "v2_oomgroup" or mode.endswith("t0.8"):
            values["oom_group"] = True
        assert CgroupLimits(**values).unified == answers[mode].get("unified", {}), (where, container.name, mode)


def _policy(mode: str) -> MemoryReservationPolicy:
    return "TieredReservation" if "Tiered" in mode else "None"


def check_static(recorded: dict[str, Any], tag: str, minor: int) -> None:
    """The same pod as a static file: refused or not, and its containers' requests after defaulting."""
    for expected in [recorded["static"][tag]] if tag in recorded["static"] else []:
        version = KubeletVersion(minor)
        pod = defaulted(decoded(recorded["pod"], recorded["id"], version), version)
        try:
            check_pod(pod, version)
        except PodError as error:
            assert expected.get("error"), (recorded["id"], str(error))
            continue
        assert not expected.get("error"), (recorded["id"], expected)
        for container in pod.all_containers:
            mine = [_texts(container.requests), _texts(container.limits)]
            assert mine == [texts or {} for texts in expected["resources"][container.name]], recorded["id"]


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


@pytest.mark.parametrize("tag", SAMPLED)
def test_pods_and_containers_are_the_kubelets(tag: str) -> None:
    rows = sampled_pods()
    assert len(rows) > 300
    for row in rows:
        check_answers(row, tag, SAMPLED[tag])


@pytest.mark.parametrize("tag", SAMPLED)
def test_the_same_static_pods_are_taken(tag: str) -> None:
    for row in sampled_pods():
        check_static(row, tag, SAMPLED[tag])


needs_tables = pytest.mark.skipif(
    outside_directory() is None, reason=f"{OUTSIDE} names no directory with the full tables"
)


@needs_tables
@pytest.mark.parametrize("tag", FULL)
def test_all_recorded_pods_are_the_kubelets(tag: str) -> None:
    directory = outside_directory()
    assert directory is not None
    for row in pods_of(directory, tag):
        check_answers(row, tag, FULL[tag])
        check_static(row, tag, FULL[tag])


@needs_tables
@pytest.mark.parametrize("tag", FULL)
def test_all_recorded_functions_are_the_kubelets(tag: str) -> None:
    directory = outside_directory()
    assert directory is not None
    for row in functions_of(directory, tag):
        if row["fn"] == "quantity":
            check_text(row)
        elif row["fn"] == "HugePageLimits":
            amounts = {name: parse(text) for name, text in row["in"].items()}
            assert {str(size): limit for size, limit in hugepage_limits(amounts).items()} == row["out"], row
        else:
            check_conversion(row, quadratic if tag == "1.36.2" else linear)
