"""The metrics of ``run``."""

from __future__ import annotations

from collections.abc import Callable
from errno import EBUSY, EINVAL
from typing import Any

import pytest

from cgroup_engine.change.apply import Outcome
from cgroup_engine.errors import StepFailedError
from cgroup_engine.plan.step import Action, Step
from cgroup_engine.run.events import Complaint, Drift, Reconciled, Started
from cgroup_engine.run.metrics import Metrics

POD = "kubepods/burstable/pod1234-5"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("1.2.3", "1.34", clock=lambda: 1000.0)


@pytest.fixture
def value(metrics: Metrics) -> Callable[..., Any]:
    """The value of a series, 0 if nothing was counted; its name without cgroup_engine_."""
    return lambda name, **labels: metrics.registry.get_sample_value(f"cgroup_engine_{name}", labels) or 0


def _step(action: Action, path: str, text: str = "") -> Step:
    return Step(action, path, path if action != "write" else path.rpartition("/")[0], "why", "owner", text)


def _reconciled(**fields: Any) -> Reconciled:
    return Reconciled("interval", 0.02, {"Guaranteed": 1, "Burstable": 2}, **fields)


def test_steps_are_counted_by_kind_and_file(metrics: Metrics, value: Callable[..., Any]) -> None:
    done = [_step("mkdir", POD), _step("write", f"{POD}/cpu.max", "1 2"), _step("write", f"{POD}/cpu.max", "3 4")]
    metrics.hear(_reconciled(outcome=Outcome(done)))
    assert value("steps_total", action="mkdir", file="") == 1
    assert value("steps_total", action="write", file="cpu.max") == 2


def test_failures_are_counted_by_errno(metrics: Metrics, value: Callable[..., Any]) -> None:
    failed = [StepFailedError("a", errno=EINVAL), StepFailedError("b", errno=EBUSY), StepFailedError("read back other")]
    metrics.hear(_reconciled(outcome=Outcome(failed=failed, skipped=[_step("mkdir", POD)])))
    assert [value("step_failures_total", errno=name) for name in ("EINVAL", "EBUSY", "none")] == [1, 1, 1]
    assert value("steps_skipped_total") == 1


def test_drift_is_counted_by_file_and_whether_it_was_repaired(metrics: Metrics, value: Callable[..., Any]) -> None:
    drift = (
        Drift(f"{POD}/cpu.max", "p", "1 2", "3 4"),
        Drift(f"{POD}/pids.max", "p", "10", "max"),
        Drift(POD, "p", "", ""),
    )
    metrics.hear(_reconciled(drift=drift, outcome=Outcome([_step("write", f"{POD}/cpu.max", "1 2")])))
    assert value("drift_total", file="cpu.max") == value("drift_repaired_total", file="cpu.max") == 1
    assert value("drift_total", file="pids.max") == 1
    assert value("drift_repaired_total", file="pids.max") == 0
    assert value("drift_total", file="cgroup") == 1


def test_strangers_names_never_become_labels(metrics: Metrics) -> None:
    for n in range(100):
        metrics.hear(_reconciled(drift=(Drift(f"{POD}/cpu.stranger{n}", "p", "", "there"),)))
    [drift] = [metric for metric in metrics.registry.collect() if metric.name == "cgroup_engine_drift"]
    assert len(drift.samples) == 1


def test_a_pod_that_is_removed_is_one_whatever_the_number_of_hierarchies(
    metrics: Metrics, value: Callable[..., Any]
) -> None:
    done = [
        Step("rmdir", f"{tree}/{POD}{below}", f"{POD}{below}", "", "")
        for below in ("/abc", "")
        for tree in ("cpu", "memory")
    ]
    metrics.hear(_reconciled(outcome=Outcome(done), killed={POD: (4711, 4712)}))
    assert value("pod_cgroups_removed_total") == 1
    assert value("processes_killed_total") == 2


def test_pods_are_counted_by_qos_class_now(metrics: Metrics, value: Callable[..., Any]) -> None:
    metrics.hear(_reconciled())
    assert [value("pods", qos_class=name) for name in ("Guaranteed", "Burstable", "BestEffort")] == [1, 2, 0]


def test_the_last_success_is_not_moved_by_what_failed(metrics: Metrics, value: Callable[..., Any]) -> None:
    metrics.hear(_reconciled(outcome=Outcome(failed=[StepFailedError("a")])))
    assert value("last_successful_reconcile_timestamp_seconds") == 0
    metrics.hear(_reconciled())
    assert value("last_successful_reconcile_timestamp_seconds") == 1000
    assert value("reconcile_duration_seconds_count", reason="interval") == 2


def test_a_dry_run_shows_what_it_would_do(metrics: Metrics, value: Callable[..., Any]) -> None:
    metrics.hear(Started("/cg", "v2", "kubepods", dry_run=True))
    metrics.hear(_reconciled(planned=7, dry_run=True))
    assert value("dry_run") == 1
    assert value("steps_planned") == 7


def test_complaints_are_counted_by_what_they_are_about(metrics: Metrics, value: Callable[..., Any]) -> None:
    metrics.hear(Complaint("a.yaml: is not YAML"))
    metrics.hear(Complaint("gone", about="root"))
    assert value("complaints_total", about="pods") == value("complaints_total", about="root") == 1


def test_the_build_is_named(metrics: Metrics, value: Callable[..., Any]) -> None:
    metrics.hear(Started("/cg", "v1", "kubepods", dry_run=False))
    assert value("build_info", version="1.2.3", kubelet_version="1.34", layout="v1") == 1
