"""The log of ``run``."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from errno import EINVAL
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.apply import Outcome
from cgroup_engine.errors import StepFailedError
from cgroup_engine.plan.step import Step
from cgroup_engine.run.events import (
    Complaint,
    Drift,
    Event,
    Listening,
    Reason,
    Reconciled,
    Started,
    Stopping,
    Waiting,
)
from cgroup_engine.run.log import Log

from .conftest import Clock

POD = "kubepods/burstable/pod1234-5"
FAILURE = StepFailedError(
    f'{POD}/cpu.max: write "5 5" failed: EINVAL (invalid argument)',
    path=f"{POD}/cpu.max",
    value="5 5",
    errno=EINVAL,
    todo="look at status",
)
EVENTS: list[Event] = [
    Started("/cg", "v2", "kubepods", dry_run=False),
    Listening("http://127.0.0.1:9753"),
    Reconciled("start", 0.02, {"Burstable": 1}),
    Reconciled(
        "drift",
        0.02,
        {"Burstable": 1},
        Outcome([Step("mkdir", POD, POD, "", "")], [FAILURE]),
        drift=(Drift(f"{POD}/pids.max", "default/p", "100", "max", "bash (pid 4711)"),),
        killed={"kubepods/pod9": (4711,)},
        kept=("/kubepods/x: a process lives in it",),
    ),
    Complaint("a.yaml: is not YAML"),
    Waiting(60),
    Stopping("SIGTERM"),
]


@pytest.fixture
def logged() -> Callable[..., list[str]]:
    """The lines that some events leave."""

    def lines(*events: Any, **options: Any) -> list[str]:
        stream = io.StringIO()
        log = Log(stream, **options)
        for event in events:
            log.hear(event)
        return stream.getvalue().splitlines()

    return lines


def test_json_is_one_object_per_line_with_time_level_and_event_first(logged: Callable[..., list[str]]) -> None:
    rows = [json.loads(line) for line in logged(*EVENTS, form="json")]
    assert [row["event"] for row in rows] == [
        "started", "listening", "reconciled", "drift", "killed", "failed", "kept", "reconciled", "complaint",
        "stopping",
    ]  # fmt: skip
    assert all(list(row)[:3] == ["time", "level", "event"] for row in rows)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["time"]) for row in rows)


def test_a_failed_write_has_path_value_errno_and_what_to_do(logged: Callable[..., list[str]]) -> None:
    [row] = [row for row in map(json.loads, logged(*EVENTS, form="json")) if row["event"] == "failed"]
    assert row["level"] == "error"
    assert (row["path"], row["value"], row["errno"], row["todo"]) == (
        f"{POD}/cpu.max",
        "5 5",
        "EINVAL",
        "look at status",
    )


def test_a_drift_has_path_owner_wanted_found_and_by(logged: Callable[..., list[str]]) -> None:
    [row] = [row for row in map(json.loads, logged(*EVENTS, form="json")) if row["event"] == "drift"]
    assert row["level"] == "warning"
    assert (row["path"], row["owner"]) == (f"{POD}/pids.max", "default/p")
    assert (row["wanted"], row["found"], row["by"]) == ("100", "max", "bash (pid 4711)")


def test_text_says_it_in_words(logged: Callable[..., list[str]]) -> None:
    lines = logged(*EVENTS)
    assert any(
        line.endswith(f"{POD}/pids.max: wanted 100, found max, by bash (pid 4711); of default/p") for line in lines
    )
    assert any(line.endswith("1 pods in 20 ms (drift): made 1, failed 1") for line in lines)
    assert "\x1b" not in "".join(lines)


def test_a_look_that_changed_nothing_is_no_line_unless_verbose(logged: Callable[..., list[str]]) -> None:
    idle = Reconciled("interval", 0.02, {})
    assert logged(idle, idle) == []
    assert len(logged(idle, idle, verbose=True)) == 2


def test_what_is_kept_and_what_a_dry_run_would_do_is_said_once(logged: Callable[..., list[str]]) -> None:
    kept = Reconciled("interval", 0.02, {}, kept=("/x: a process lives in it",))
    assert len(logged(kept, kept, kept)) == 1
    planned = Reconciled("interval", 0.02, {}, planned=3, dry_run=True)
    assert len(logged(planned, planned, planned)) == 1


def _fight(number: int, *, reason: Reason = "drift", cgroup: str = POD) -> Reconciled:
    """A repair of drift that a stranger makes each time."""
    drift = tuple(Drift(f"{POD}/{name}", "default/p", "1", str(number), "x (pid 7)", POD) for name in ("a", "b"))
    return Reconciled(reason, 0.02, {}, Outcome([Step("write", f"{cgroup}/a", cgroup, "", "")]), drift=drift)


def test_a_fight_is_told_once_then_counted_and_the_rest_at_the_end() -> None:
    stream, clock = io.StringIO(), Clock()
    log = Log(stream, "json", clock=clock)
    for number in range(1500):  # 90 s and more
        log.hear(_fight(number))
        log.hear(Waiting(1))
        clock.now += 0.0625
    log.hear(Stopping("SIGTERM"))
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [row["event"] for row in rows] == [*["drift"] * 2, "reconciled", *["repeated"] * 5, "stopping"]
    told = [row for row in rows if row["event"] == "repeated"]
    assert [round(row["seconds"]) for row in told] == [10, 10, 20, 40, 14]
    assert sum(row["count"] for row in told) == 2 * 1499
    assert {(row["paths"], row["path"], row["by"], row["level"]) for row in told} == {
        (2, f"{POD}/a", "x (pid 7)", "warning")
    }


def test_the_count_is_told_in_words() -> None:
    stream, clock = io.StringIO(), Clock()
    log = Log(stream, clock=clock)
    for number in range(3):
        log.hear(_fight(number))
    clock.now += 10
    log.hear(Waiting(1))
    assert (
        stream.getvalue()
        .splitlines()[-1]
        .endswith(f"{POD}/a: drift 2 times more in 10 s, by x (pid 7); 4 times at 2 paths")
    )


def test_verbose_tells_of_repeats_too(logged: Callable[..., list[str]]) -> None:
    assert len(logged(_fight(1), _fight(2), verbose=True)) == 2 * 3


@pytest.mark.parametrize(
    "other", [_fight(2, cgroup="kubepods/other"), replace(_fight(2), outcome=Outcome([], [FAILURE]))]
)
def test_a_look_that_did_more_than_repair_a_repeat_is_told(logged: Callable[..., list[str]], other: Reconciled) -> None:
    lines = logged(_fight(1), _fight(2), other)
    assert sum("reconciled" in line for line in lines) == 2


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_stranger_forges_no_line(logged: Callable[..., list[str]], form: str) -> None:
    text = "x\n2026-01-01T00:00:00Z info started \x1b[2J\x9b\u2028\ud800"
    [line] = logged(Complaint(text), form=form)
    assert line.isascii()
    assert line.isprintable()


@pytest.mark.parametrize("form", ["text", "json"])
def test_lines_are_bounded(logged: Callable[..., list[str]], form: str) -> None:
    long = "x" * 100_000
    drift = tuple(Drift(long, long, long, long, long) for _ in range(1))
    event = Reconciled("drift", 0.1, {}, drift=drift, killed={long: tuple(range(100_000))}, kept=(long,))
    assert max(map(len, logged(event, Complaint(long), form=form))) < 8000


def test_a_reader_that_is_gone_does_not_matter() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", buffering=1) as stream:
        log = Log(stream)
        with pytest.raises(BrokenPipeError):
            stream.write("a line\n")
        log.hear(EVENTS[0])
        log.hear(EVENTS[2])
        writer = os.open(os.devnull, os.O_WRONLY)
        os.dup2(writer, stream.fileno())
        os.close(writer)


def test_in_the_journal_a_line_has_a_priority_and_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "journal", "w+") as stream:
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        Log(stream).hear(EVENTS[4])
        stream.seek(0)
        assert stream.read() == "<4>warning complaint a.yaml: is not YAML\n"


def test_another_address_than_loopback_is_a_warning(logged: Callable[..., list[str]]) -> None:
    [line] = logged(Listening("http://0.0.0.0:9753", loopback=False))
    assert "warning listening" in line
