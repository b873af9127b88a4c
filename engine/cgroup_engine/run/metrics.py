"""Prometheus metrics of ``run``: what was written, refused and repaired.

Labels are names of interface files, errno and the like, never names of pods, so the number of series is bounded. Names
and units follow Prometheus' conventions. The tests compare the table in docs/guides/node.md with these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)

from cgroup_engine.errors import errno_name
from cgroup_engine.model.names import QosClass, is_pod_directory
from cgroup_engine.plan.step import Action, Step
from cgroup_engine.plan.systemd.unit_step import UnitStep
from cgroup_engine.run.events import About, Complaint, Drift, Event, Reason, Reconciled, Started
from cgroup_engine.tree.knobs import CPUS, KNOBS, MEMS

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
#: The ``file`` label of a drift that is a whole cgroup.
_CGROUP = "cgroup"
_FILES = {file for knobs in KNOBS.values() for knob in (*knobs, CPUS, MEMS) for file in knob.files} | {
    "memory.memsw.limit_in_bytes",
    "cgroup.procs",
    "cgroup.subtree_control",
}


class Metrics:
    """Counts events in a registry of its own. ``clock``: seconds since the epoch."""

    def __init__(self, version: str, kubelet_version: str, clock: Callable[[], float] = time.time) -> None:
        # the library has a global switch for a second series per counter, which nobody needs here
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._clock = clock
        self._versions = {"version": version, "kubelet_version": kubelet_version}
        self._build = self._info("build", "Version of the engine, kubelet release of its rules, and layout of the root")
        self._dry_run = self._gauge("dry_run", "1 if nothing is written (--dry-run)")
        self._steps = self._counter("steps", "Steps that were done, by kind and interface file", "action", "file")
        self._failures = self._counter("step_failures", "Steps that failed, by errno (none: no errno)", "errno")
        self._skipped = self._counter("steps_skipped", "Steps not attempted, as they depend on a failed one")
        self._backed_off = self._gauge("steps_backed_off", "Failed steps that wait for their next attempt")
        self._planned = self._gauge("steps_planned", "Steps that a real run would take, with --dry-run")
        self._drift = self._counter("drift", "Changes of values and cgroups by others, by interface file", "file")
        self._repaired = self._counter(
            "drift_repaired", "Changes by others that were repaired at once, by interface file", "file"
        )
        self._duration = self._histogram(
            "reconcile_duration_seconds", "Duration of a reconcile, by its cause", "reason"
        )
        self._last = self._gauge(
            "last_successful_reconcile_timestamp_seconds",
            "Time when the tree was last as wanted, in seconds since the epoch",
        )
        self._pods = self._gauge("pods", "Pods that have a cgroup, by QoS class", "qos_class")
        self._removed = self._counter("pod_cgroups_removed", "Cgroups of pods that were removed after their pod")
        self._killed = self._counter("processes_killed", "Processes that were killed in cgroups of pods that are gone")
        self._kept = self._gauge("cgroups_kept", "Unwanted cgroups that stay, as a process lives in them")
        self._complaints = self._counter("complaints", "Things that could not be used or read, by subject", "about")
        ProcessCollector(registry=self.registry)
        for metric, label, values in (
            (self._duration, "reason", get_args(Reason)),
            (self._pods, "qos_class", get_args(QosClass)),
            (self._complaints, "about", get_args(About)),
        ):
            for value in values:
                metric.labels(**{label: value})  # starts the series at zero, so that a rise can be seen
        for action in get_args(Action):
            if action != "write":
                self._steps.labels(action=action, file="")

    def hear(self, event: Event) -> None:
        if isinstance(event, Started):
            self._build.info({**self._versions, "layout": event.layout})
            self._dry_run.set(event.dry_run)
        elif isinstance(event, Complaint):
            self._complaints.labels(about=event.about).inc()
        elif isinstance(event, Reconciled):
            self._reconciled(event)

    def _reconciled(self, event: Reconciled) -> None:
        outcome = event.outcome
        self._duration.labels(reason=event.reason).observe(event.duration)
        for qos_class in get_args(QosClass):
            self._pods.labels(qos_class=qos_class).set(event.pods.get(qos_class, 0))
        for step in outcome.done:
            self._steps.labels(action=step.action, file=step.file if step.action == "write" else "").inc()
        for failure in outcome.failed:
            self._failures.labels(errno="none" if failure.errno is None else errno_name(failure.errno)).inc()
        self._skipped.inc(len(outcome.skipped))
        self._backed_off.set(event.backed_off)
        self._planned.set(event.planned)
        done = {path for step in outcome.done for path in _paths(step)}
        for drift in event.drift:
            self._drift.labels(file=_file(drift)).inc()
            if drift.path in done:
                self._repaired.labels(file=_file(drift)).inc()
        gone = {step.cgroup for step in outcome.done if step.action in ("rmdir", "stop")}
        self._removed.inc(sum(_is_pod(cgroup) for cgroup in gone))
        self._killed.inc(sum(len(pids) for pids in event.killed.values()))
        self._kept.set(len(event.kept))
        if not (outcome.failed or outcome.skipped or event.backed_off or event.planned):
            self._last.set(self._clock())

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace="cgroup_engine", registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, namespace="cgroup_engine", registry=self.registry)

    def _info(self, name: str, text: str) -> Info:
        return Info(name, text, namespace="cgroup_engine", registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(name, text, labels, namespace="cgroup_engine", registry=self.registry, buckets=_SECONDS)


def _file(drift: Drift) -> str:
    """The label of a drift: an interface file that the engine writes, or ``cgroup``, as others choose names freely."""
    name = drift.path.rpartition("/")[2]
    return name if name in _FILES or (drift.wanted and name.startswith("hugetlb.")) else _CGROUP


def _paths(step: Step) -> Iterator[str]:
    yield step.path
    if isinstance(step, UnitStep):
        yield from (file.path for file in step.files)


def _is_pod(cgroup: str) -> bool:
    name = cgroup.rpartition("/")[2]
    return is_pod_directory(name, "cgroupfs") or is_pod_directory(name, "systemd")
