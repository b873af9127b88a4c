"""The rules against what compiled kubelets answered for the same pods and nodes."""

from __future__ import annotations

import pytest

from engine import names
from engine.errors import PodError
from engine.kubelet_version import KubeletVersion
from engine.pods import pod_from_object
from engine.qos import oom_score_adj, qos_class
from engine.quantity import parse
from engine.resources import CfsQuota, limits_for_container, limits_for_pod, pod_limits, pod_requests

VERSIONS = {"1.32.10": 32, "1.36.2": 36}
CONTAINER_MODES = {
    "cfs1_p100000_g0": CfsQuota(),
    "cfs0": CfsQuota(enforced=False),
    "cfs1_p10000_g1": CfsQuota(period_us=10_000),
}
# amounts over 2^63-1, which the API takes and every kubelet's arithmetic overflows on
TOO_LARGE = "is more than 2^63-1"


@pytest.fixture(scope="module")
def answers(recorded):
    """(pod, version, expected) of every recorded pod that both take."""
    rows = []
    for row in recorded("pods"):
        for expected in row["expected"]:
            gates = {}
            if "pod_level_resources" in expected:
                gates["PodLevelResources"] = expected["pod_level_resources"]
            version = KubeletVersion(VERSIONS[expected["version"]], gates)
            try:
                pod = pod_from_object(row["pod"], row["id"], version)
            except PodError:
                continue
            rows.append((pod, version, expected))
    assert len(rows) > 500
    return rows


def test_validation_refuses_the_same_pods(recorded):
    for row in recorded("pods"):
        for version, refused in row["refused"].items():
            try:
                pod_from_object(row["pod"], row["id"], KubeletVersion(VERSIONS[version]))
            except PodError as error:
                assert refused or TOO_LARGE in str(error), (row["id"], str(error))
            else:
                assert not refused, row["id"]


def test_qos_classes_and_names_are_the_kubelets(answers):
    for pod, version, expected in answers:
        qos = qos_class(pod, version)
        assert qos == expected["qos"], pod.name
        for driver, path in expected["cgroup"].items():
            assert "/" + names.directory(names.pod_name((), qos, pod.uid), driver) == path


def test_pod_values_are_the_kubelets(answers):
    for pod, version, expected in answers:
        for key, values in expected["rc"].items():
            enforced, period, gate = key.split("_")
            period_us = int(period[1:])
            # without the gate the quota is computed for 100 ms, whatever period is handed on
            cfs = CfsQuota(enforced == "e1", period_us if gate == "g1" else 100_000)
            limits = limits_for_pod(pod, expected["qos"], cfs, version)
            mine = {"cpu_shares": limits.shares, "cpu_quota": limits.quota_us, "memory": limits.memory}
            if limits.period_us is not None:
                mine["cpu_period"] = period_us
            assert {name: value for name, value in mine.items() if value is not None} == values, (pod.name, key)


def test_sums_are_the_kubelets(answers):
    for pod, version, expected in answers:
        for name, sums in (("sum_requests", pod_requests(pod, version)), ("sum_limits", pod_limits(pod, version))):
            mine = {key: [str(amount), amount.value(), amount.milli_value()] for key, amount in sums.items()}
            assert mine == (expected[name] or {}), (pod.name, name)


def test_container_values_are_the_kubelets(answers):
    for pod, version, expected in answers:
        containers = {container.name: container for container in pod.all_containers}
        for row in expected["containers"]:
            for mode, cfs in CONTAINER_MODES.items():
                limits = limits_for_container(containers[row["name"]], pod, cfs, version)
                mine = {
                    "cpu_shares": limits.shares,
                    "cpu_quota": limits.quota_us or 0,
                    "cpu_period": limits.period_us or 0,
                    "memory": limits.memory or 0,
                }
                assert mine == row["res"][mode], (pod.name, row["name"], mode)


def test_oom_scores_are_the_kubelets(answers):
    for pod, version, expected in answers:
        containers = {container.name: container for container in pod.all_containers}
        for row in expected["containers"]:
            for capacity, score in row["oom_score_adj"].items():
                if score > 1000:
                    continue  # the kubelet's int64 overflowed at a request of exabytes
                mine = oom_score_adj(pod, containers[row["name"]], parse(capacity).value(), version)
                assert mine == score, (pod.name, row["name"], capacity)
