"""Played scenarios."""

from __future__ import annotations

import json

import pytest

from fakecgroup import Kernel
from fakecgroup.scenario import Outcome, ScenarioError, play, read_scenario
from fakecgroup.scenario.outcome import Mark
from fakecgroup.scenario.play import play_on
from fakecgroup.scenario.report import as_csv, as_json, table

_SECOND = 1_000_000_000
_BUSY = "workloads: [{cgroup: app, loop: forever, phases: [{for: 10s, cpu: 1}]}]\n"


def _played(text: str, **options: object) -> Outcome:
    return play(read_scenario(text, "s.yaml"), **options)  # type: ignore[arg-type]


def test_the_controllers_that_files_need_are_enabled_above() -> None:
    outcome = _played(
        "cgroups: {a/b: {cpu.weight: 50, pids.max: 10}}\n"
        "expect:\n"
        "  - {time: 1s, file: cgroup.subtree_control, has: cpu pids}\n"
        "  - {time: 1s, file: a/cgroup.subtree_control, has: cpu pids}\n"
        "  - {time: 1s, file: a/b/cpu.weight, between: [50, 50]}\n"
    )
    assert [one.seen for one in outcome.checked if not one.holds] == []


def test_a_write_comes_before_an_expectation_of_the_same_time() -> None:
    outcome = _played(
        "cgroups: {app: {cpu.weight: 50}}\n" + _BUSY + "at: [{time: 5s, write: {app/cpu.weight: 70}}]\n"
        "expect:\n"
        "  - {time: 4s, file: app/cpu.weight, between: [50, 50]}\n"
        "  - {time: 5s, file: app/cpu.weight, between: [70, 70]}\n"
    )
    assert outcome.holds


def test_a_write_changes_what_happens_after_it() -> None:
    outcome = _played(
        "cgroups: {app: {cpu.max: max}}\n" + _BUSY + "at: [{time: 10s, write: {app/cpu.max: 10000 100000}}]\n"
        "expect:\n"
        "  - {time: 10s, file: app/cpu.stat, key: usage_usec, between: [10e6, 10e6]}\n"
        "  - {time: 20s, file: app/cpu.stat, key: usage_usec, between: [11e6, 11.1e6]}\n"
    )
    assert [one.seen for one in outcome.checked if not one.holds] == []


def test_kills_are_counted() -> None:
    outcome = _played(
        "cgroups: {app: {}}\n" + _BUSY + "at: [{time: 1s, write: {app/cgroup.kill: 1}}]\n"
        "expect: [{time: 2s, killed: 1}, {time: 2s, killed: 1, cgroup: app}, {time: 2s, killed: 1, cgroup: other}]\n"
    )
    assert [one.holds for one in outcome.checked] == [True, True, False]
    assert table(outcome)[-3:] == [
        "s.yaml:4:69: at 2 s 1 are to be killed in other, and 0 are",
        "",
        "2 of 3 expectations hold",
    ]


def test_an_expectation_that_does_not_hold_says_what_was_seen() -> None:
    outcome = _played(
        "cgroups: {app: {cpu.max: 20000 100000}}\n" + _BUSY + "expect:\n"
        "  - {time: 6s, file: app/cpu.stat, key: nr_periods, between: [1, 2]}\n"
        "  - {time: 6s, file: app/cpu.stat, key: some.total, between: [1, 2]}\n"
        "  - {time: 6s, file: app/cpu.max, has: max}\n"
        "  - {time: 6s, file: app/nothing, has: x}\n"
    )
    assert [line.partition(": ")[2] for line in table(outcome) if line.startswith("s.yaml")] == [
        "at 6 s app/cpu.stat nr_periods is to be from 1 to 2, and is 60",
        "at 6 s app/cpu.stat some.total is to be from 1 to 2, and is no number some.total",
        "at 6 s app/cpu.max is to be the line 'max', and is 20000 100000",
        "at 6 s app/nothing is to be the line 'x', and is No such file or directory",
    ]


@pytest.mark.parametrize("layout", ["v1", "hybrid"])
def test_on_v1_paths_begin_with_the_hierarchy(layout: str) -> None:
    outcome = _played(
        "cgroups: {cpu/app: {cpu.cfs_quota_us: 20000}, memory/app: {}}\n"
        "workloads: [{cgroup: [cpu/app, memory/app], loop: forever, phases: [{for: 1s, cpu: 1}]}]\n"
        "expect: [{time: 6s, file: cpu/app/cpu.stat, key: nr_throttled, between: [59, 61]}]\n",
        machine={"layout": layout},
        every=6 * _SECOND,
    )
    assert outcome.holds
    assert [(one.cgroup, round(one.usage / 1e6, 1)) for one in outcome.samples] == [("app", 1.2)]


def test_the_command_line_wins_over_the_scenario_and_that_over_the_defaults() -> None:
    text = "machine: {cpus: 2}\nexpect: [{time: 1s, file: cpuset.cpus.effective, has: %s}]\n"
    assert _played(text % "0-1").holds
    assert _played(text % "0-2", machine={"cpus": 3}).holds
    assert _played("expect: [{time: 1s, file: cpuset.cpus.effective, has: 0-3}]").holds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cgroups: {app: {}}\n" + _BUSY, "a workload repeats for ever and nothing says when to stop"),
        ("cgroups: {a: {}}", "nothing says when to stop"),
        (
            "cgroups: {a: {cpu.max: 1}}\nat: [{time: 1s, write: {}}]",
            "s.yaml:1:24: the kernel refuses '1' for a/cpu.max",
        ),
        (_BUSY + "at: [{time: 1s, write: {}}]", "s.yaml:1:13: no process can be in app: No such file or directory"),
        ("machine: {layout: v3}\nat: [{time: 1s, write: {}}]", "no layout 'v3'"),
        ("cgroups: {cgroup.procs/a: {}}\nat: [{time: 1s, write: {}}]", "s.yaml:1:11: cgroup cgroup.procs/a cannot"),
    ],
)
def test_what_cannot_be_played_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        _played(text)
    assert str(refusal.value).startswith(problem)


def test_json_and_csv_have_the_same_samples() -> None:
    outcome = _played(
        "cgroups: {app: {cpu.max: 20000 100000}}\n" + _BUSY + "at: [{time: 4s, write: {}}]\n", every=2 * _SECOND
    )
    assert as_csv(outcome).splitlines()[1].startswith("2.0,app,420")
    assert '"time_s": 4.0' in as_json(outcome)
    assert len(as_csv(outcome).splitlines()) == 3


def test_a_watcher_looks_when_it_says_and_may_change_the_tree() -> None:
    kernel = Kernel(clock=lambda: 0, cpus=1)

    class Limits:
        def __init__(self) -> None:
            self.times = [3 * _SECOND, 5 * _SECOND]

        def next(self) -> int | None:
            return self.times[0] if self.times else None

        def look(self, now: int) -> list[Mark]:
            del self.times[0]
            kernel.write("/app/cpu.weight", str(now // _SECOND))
            return [Mark(now, "evict", f"{now // _SECOND} s")]

    scenario = read_scenario(
        "cgroups: {app: {cpu.weight: 1}}\n"
        "expect:\n"
        "  - {time: 2s, file: app/cpu.weight, between: [1, 1]}\n"
        "  - {time: 4s, file: app/cpu.weight, between: [3, 3]}\n"
        "  - {time: 5s, file: app/cpu.weight, between: [5, 5]}\n"
    )
    outcome = play_on(kernel, scenario, 6 * _SECOND, watchers=[Limits()])
    assert [one.seen for one in outcome.checked] == ["1", "3", "5"]
    assert [mark.text for mark in outcome.marks] == ["3 s", "5 s"]


_LEAK = (
    "cgroups: {app: {memory.max: 50Mi}}\n"
    "workloads:\n"
    "  - {cgroup: app, phases: [{for: 1h, memory: {grow: 10Mi/s}}]}\n"
    "  - {cgroup: app, phases: [{for: 1h, memory: 1536Ki}]}\n"
)


def test_the_table_shows_memory_stalls_and_kills_where_there_are_any() -> None:
    head, row = table(_played(_LEAK, until=10 * _SECOND, every=10 * _SECOND))
    assert head.split()[-3:] == ["MEMORY", "STALLED", "KILLED"]
    assert row.split()[-5:] == ["1.5", "MiB", "0", "%", "1"]


def test_samples_have_memory_and_kills() -> None:
    outcome = _played(_LEAK, until=5 * _SECOND, every=_SECOND)
    assert [(one.memory, one.killed) for one in outcome.samples][-2:] == [(43_524_096, 0), (1_581_056, 1)]


def test_on_v1_a_cgroup_of_the_memory_hierarchy_alone_is_shown() -> None:
    text = _LEAK.replace("app", "memory/app").replace("memory.max", "memory.limit_in_bytes")
    outcome = _played("machine: {layout: v1}\n" + text, until=10 * _SECOND, every=10 * _SECOND)
    assert [(one.cgroup, one.memory, one.killed) for one in outcome.samples] == [("app", 1_581_056, 1)]


def test_json_tells_writes_and_kills() -> None:
    outcome = _played("cgroups: {app: }\n" + _BUSY + "at: [{time: 2s, write: {app/cgroup.kill: 1}}]", until=3 * _SECOND)
    marks = json.loads(as_json(outcome))["marks"]
    assert [(mark["time"], mark["kind"]) for mark in marks] == [(2.0, "write"), (2.0, "kill")]
