"""docs/guides/node.md says what the code has: metrics, log fields, lines."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.apply import Outcome
from cgroup_engine.errors import StepFailedError
from cgroup_engine.run.events import Complaint, Drift, Event, Listening, Reconciled, Started, Stopping
from cgroup_engine.run.log import Log
from cgroup_engine.run.metrics import Metrics

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "node.md").read_text()
EVENTS: list[Event] = [
    Started("/cg", "v2", "kubepods", dry_run=False),
    Listening("http://127.0.0.1:9753"),
    Reconciled(
        "start",
        0.1,
        {},
        Outcome(failed=[StepFailedError("a")]),
        drift=(Drift("a", "b", "c", "d", "e"),),
        killed={"a": (1,)},
        kept=("b",),
    ),
    Complaint("c"),
    Stopping("SIGTERM"),
]


def _metrics() -> Iterator[tuple[str, str]]:
    for metric in Metrics("1", "1.36").registry.collect():
        if metric.name.startswith("cgroup_engine_"):
            end = {"counter": "_total", "info": "_info"}.get(metric.type, "")
            yield metric.name + end, metric.documentation


def test_every_metric_is_in_the_table_with_its_help() -> None:
    for name, text in _metrics():
        assert re.search(rf"^\| `{name}` \| [a-z_, ]*\| {re.escape(text)} \|$", PAGE, re.MULTILINE), name


def test_no_metric_is_named_that_is_not_there() -> None:
    assert set(re.findall(r"cgroup_engine_[a-z_]+", PAGE)) == {name for name, _ in _metrics()}


@pytest.fixture
def logged() -> list[dict[str, Any]]:
    stream = io.StringIO()
    log = Log(stream, "json")
    for event in EVENTS:
        log.hear(event)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_event_is_in_the_table_with_its_fields(logged: list[dict[str, Any]]) -> None:
    rows = {found[1]: found[2] for found in re.finditer(r"^\| (\w+) \| (?:[^|]*) \| ([^|]*) \|$", PAGE, re.MULTILINE)}
    for event in logged:
        fields = [name for name in event if name not in ("time", "level", "event")]
        listed = re.sub(r"\([^)]*\)|;.*", "", rows[event["event"]])
        assert [name.strip() for name in listed.split(",")] == fields
