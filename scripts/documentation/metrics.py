"""The Prometheus metrics of `cgroup-engine run`, as its registry has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cgroup_engine.run.events import Started
from cgroup_engine.run.metrics import Metrics

from .tables import table

_SUFFIX = {"counter": "_total", "info": "_info"}


class Metric(NamedTuple):
    """A metric by the name that a query uses."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def registered() -> Iterator[Metric]:
    """The metrics of the engine itself, in the order in which they were registered."""
    metrics = Metrics("1", "1.36")
    metrics.hear(Started("/sys/fs/cgroup", "v2", "kubepods", dry_run=False))  # build_info has its labels from then on
    declared = {of.describe()[0].name: of._labelnames for of in vars(metrics).values() if hasattr(of, "_labelnames")}
    for metric in metrics.registry.collect():
        if metric.name.startswith("cgroup_engine_"):
            name = metric.name + _SUFFIX.get(metric.type, "")
            labels = declared[metric.name] or tuple(metric.samples[0].labels)
            yield Metric(name, metric.type, labels, metric.documentation)


def page() -> str:
    """A row for each metric."""
    rows = ((f"`{one.name}`", one.kind, ", ".join(one.labels), one.text) for one in registered())
    return table(("metric", "kind", "labels", "what"), rows)
