"""A node's simulated hours as text: a table for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cgroup_engine.kubelet.eviction_ranking import is_evictable, memory_request
from cgroup_engine.kubelet.eviction_thresholds import Threshold
from cgroup_engine.kubelet.qos import qos_class
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import from_bytes
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.simulate.kubelet import Evicted
from cgroup_engine.simulate.play import Played
from cgroup_engine.simulate.pod_names import container_name
from fakecgroup.scenario.outcome import SECOND, Sample
from fakecgroup.scenario.report import unmet

_HEADS = ("POD/CONTAINER", "QOS", "CPUS", "THROTTLED", "WAITED", "MEMORY", "AT MOST", "WHAT HAPPENED")
_RANK_HEADS = ("", "POD", "USES", "REQUESTS", "OVER", "PRIORITY", "")
_COLUMNS = (
    "time_s",
    "namespace",
    "pod",
    "container",
    "usage_usec",
    "nr_periods",
    "nr_throttled",
    "throttled_usec",
    "cpu_some_total",
    "memory_current",
    "memory_some_total",
    "killed",
)


def table(played: Played) -> list[str]:
    """What each container got, the evictions, and in which order the pods that are left would be evicted.

    CPUS is the average while the container was there, THROTTLED a part of the periods of its quota, WAITED the part of
    the time in which one of its tasks waited for a CPU.
    """
    samples = _samples_of(played)
    rows = [_row(played, one, samples.get(one.path, [])) for one in played.containers]
    lines = _aligned([_HEADS, *rows], left=(0, 1, 7))
    events = [(one.time, _eviction_line(one)) for one in played.kubelet.evictions]
    for time, pressure in played.kubelet.pressure:
        has = "has" if pressure else "has no longer"
        events.append((time, f"{_seconds(time)} s: the node {has} the condition MemoryPressure"))
    lines += ["", *(line for _, line in sorted(events))] if events else []
    lines += ["", *_ranking_lines(played)]
    wrong = list(failures(played))
    lines += ["", *wrong] if wrong else []
    count = len(played.outcome.checked) + len(played.expected_evictions)
    return [*lines, "", f"{count - len(wrong)} of {count} expectations hold"] if count else lines


def failures(played: Played) -> Iterator[str]:
    """A line for each expectation that does not hold."""
    yield from (unmet(one) for one in played.outcome.checked if not one.holds)
    yield from played.unmet_evictions


def as_json(played: Played) -> str:
    """Everything: times in s, CPU times in µs, memory in bytes."""
    samples = _samples_of(played)
    working_sets = played.kubelet.memory()[1]
    return json.dumps(
        {
            "version": 1,
            "time": played.outcome.time / SECOND,
            "holds": played.holds,
            "containers": [_container_object(played, one, samples.get(one.path, [])) for one in played.containers],
            "evictions": [_eviction_object(one) for one in played.kubelet.evictions],
            "memoryPressure": [{"time": at / SECOND, "status": on} for at, on in played.kubelet.pressure],
            "ranking": [_rank_object(pod, working_sets) for pod in played.ranking],
            "unmet": list(failures(played)),
            "samples": [
                dict(zip(_COLUMNS, _values(one, sample), strict=True))
                for one in played.containers
                for sample in samples.get(one.path, [])
            ],
        },
        indent=1,
    )


def as_csv(played: Played) -> str:
    """A line for each container and sample, after a line of names."""
    samples = _samples_of(played)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    rows = [_values(one, sample) for one in played.containers for sample in samples.get(one.path, [])]
    rows.sort(key=_time_of)
    writer.writerows(rows)
    return text.getvalue()


def _time_of(row: tuple[object, ...]) -> float:
    return float(str(row[0]))


# -- containers -------------------------------------------------------------------------------------


def _samples_of(played: Played) -> dict[str, list[Sample]]:
    samples: dict[str, list[Sample]] = {}
    for sample in played.outcome.samples:
        samples.setdefault(sample.cgroup, []).append(sample)
    return samples


def _row(played: Played, container: WantedCgroup, samples: Sequence[Sample]) -> tuple[str, ...]:
    assert container.pod is not None
    name = f"{container.pod}/{container_name(container)}"
    qos = qos_class(container.pod, played.node.version)
    happened = "; ".join(_happened(played, container)) or "-"
    if not samples:
        return name, qos, "-", "-", "-", "-", "-", happened
    last, time = samples[-1], samples[-1].time / SECOND
    waited = last.pressure["cpu"][1] / 1e4 / time if "cpu" in last.pressure else 0.0
    return (
        name,
        qos,
        f"{last.usage / 1e6 / time:.2f}",
        f"{100 * last.nr_throttled / last.nr_periods:.0f} %" if last.nr_periods else "-",
        f"{waited:.0f} %",
        _size(last.memory or 0) if last.time == played.outcome.time else "-",
        _size(max(sample.memory or 0 for sample in samples)),
        happened,
    )


def _happened(played: Played, container: WantedCgroup) -> Iterator[str]:
    kills, uid = _kills(played, container), container.pod.uid if container.pod is not None else ""
    events = [
        (one.time, f"evicted at {_seconds(one.time)} s")
        for one in played.kubelet.evictions
        if one.eviction.pod.uid == uid
    ]
    if kills:
        more = f"; {len(kills)} kills in all" if len(kills) > 1 else ""
        events.append((kills[0], f"killed at {_seconds(kills[0])} s{more}"))
    for _, text in sorted(events):
        yield text


def _kills(played: Played, container: WantedCgroup) -> list[int]:
    return [kill.time for kill in played.kills if f"/{container.path}" in kill.cgroups]


def _values(container: WantedCgroup, sample: Sample) -> tuple[object, ...]:
    assert container.pod is not None
    cpu, memory = (sample.pressure.get(name, (None, None))[1] for name in ("cpu", "memory"))
    return (
        sample.time / SECOND,
        container.pod.namespace,
        container.pod.name,
        container_name(container),
        sample.usage,
        sample.nr_periods,
        sample.nr_throttled,
        sample.throttled,
        cpu,
        sample.memory,
        memory,
        sample.killed,
    )


def _container_object(played: Played, container: WantedCgroup, samples: Sequence[Sample]) -> dict[str, Any]:
    pod = container.pod
    assert pod is not None
    last = samples[-1] if samples else None
    evicted = [one.time / SECOND for one in played.kubelet.evictions if one.eviction.pod.uid == pod.uid]
    return {
        "namespace": pod.namespace,
        "pod": pod.name,
        "uid": pod.uid,
        "container": container_name(container),
        "cgroup": container.path,
        "qosClass": qos_class(pod, played.node.version),
        "usage_usec": last.usage if last else 0,
        "nr_periods": last.nr_periods if last else 0,
        "nr_throttled": last.nr_throttled if last else 0,
        "throttled_usec": last.throttled if last else 0,
        "memory_most": max((sample.memory or 0 for sample in samples), default=0),
        "killed": [time / SECOND for time in _kills(played, container)],
        "evicted": evicted[0] if evicted else None,
    }


# -- evictions --------------------------------------------------------------------------------------


def _eviction_line(one: Evicted) -> str:
    pod, threshold = one.eviction.pod, one.eviction.threshold
    uses = one.working_sets.get(pod.uid, 0)
    order = ", ".join(str(each) for each in one.eviction.ranked[:5]) + (", ..." if len(one.eviction.ranked) > 5 else "")
    return (
        f"{_seconds(one.time)} s: {pod} is evicted with {one.eviction.seconds} s to end: {threshold.signal} is "
        f"{_size(one.observed.available)}, below {_bound(threshold)}; it uses {_size(uses)} and requests "
        f"{_size(memory_request(pod))}; the order was {order}"
    )


def _eviction_object(one: Evicted) -> dict[str, Any]:
    eviction = one.eviction
    return {
        "time": one.time / SECOND,
        **_rank_object(eviction.pod, one.working_sets),
        "grace": eviction.seconds,
        "signal": eviction.threshold.signal,
        "threshold": eviction.threshold.value,
        "soft": not eviction.threshold.hard,
        "available": one.observed.available,
        "capacity": one.observed.capacity,
        "ranked": [_rank_object(pod, one.working_sets) for pod in eviction.ranked],
    }


def _ranking_lines(played: Played) -> list[str]:
    observed, working_sets = played.kubelet.memory()
    available = _size(observed["memory.available"].available)
    if not played.ranking:
        return [f"No pod is left; {available} of {_size(played.node.memory)} are available."]
    rows = [
        (f"{number}.", str(pod), *_rank_texts(pod, working_sets)) for number, pod in enumerate(played.ranking, start=1)
    ]
    head = (
        f"{available} of {_size(played.node.memory)} are available. If they were not, the order of eviction would be:"
    )
    return [head, *_aligned([_RANK_HEADS, *rows], left=(1, 6))]


def _rank_texts(pod: Pod, working_sets: Mapping[str, int]) -> tuple[str, ...]:
    uses, request = working_sets.get(pod.uid, 0), memory_request(pod)
    never = "" if is_evictable(pod) else "never: it is critical"
    return _size(uses), _size(request), _size(max(0, uses - request)), str(pod.priority or 0), never


def _rank_object(pod: Pod, working_sets: Mapping[str, int]) -> dict[str, Any]:
    return {
        "namespace": pod.namespace,
        "pod": pod.name,
        "workingSet": working_sets.get(pod.uid, 0),
        "request": memory_request(pod),
        "priority": pod.priority or 0,
        "evictable": is_evictable(pod),
    }


def _bound(threshold: Threshold) -> str:
    if isinstance(threshold.value, float):
        return f"{100 * threshold.value:.6g} %"
    return str(from_bytes(threshold.value))


# -- text -------------------------------------------------------------------------------------------


def _aligned(rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _size(number: int) -> str:
    return f"{number / (1 << 20):,.0f} MiB"


def _seconds(time: int) -> str:
    return f"{round(time / SECOND, 3):.10g}"
