"""The figure of a played scenario."""

from __future__ import annotations

import json

from fakecgroup.scenario import Outcome, play, read_scenario
from fakecgroup.scenario.outcome import Mark, Sample
from fakecgroup.scenario.timeline import figure

_SECOND = 1_000_000_000


def _played(text: str, **options: object) -> Outcome:
    return play(read_scenario(text), every=_SECOND, **options)  # type: ignore[arg-type]


def _titles(shown: dict[str, object]) -> list[str]:
    return [one["text"] for one in shown["layout"]["annotations"]]  # type: ignore[index]


def _traces(shown: dict[str, object], axis: str) -> list[dict[str, object]]:
    return [trace for trace in shown["data"] if trace["yaxis"] == axis]  # type: ignore[attr-defined]


def _sample(time: int, cgroup: str = "app", usage: int = 0, memory: int | None = None, some: int = 0) -> Sample:
    return Sample(time * _SECOND, cgroup, usage, 0, 0, 0, memory, {"memory": (0.0, some)})


def test_a_cgroups_cpu_is_what_it_used_between_two_samples() -> None:
    outcome = Outcome(2 * _SECOND, [_sample(1, usage=500_000), _sample(2, usage=2_000_000)])
    (trace,) = _traces(figure(outcome), "y")
    assert (trace["x"], trace["y"]) == ([0, 1.0, 2.0], [0.5, 0.5, 1.5])


def test_what_never_happened_has_no_panel() -> None:
    shown = figure(_played("cgroups: {app: }\nexpect: [{time: 2s, killed: 0}]"))
    assert _titles(shown) == ["<b>CPUs used</b>"]


def test_throttling_pressure_and_memory_have_panels_where_there_were_any() -> None:
    outcome = _played(
        'cgroups: {app: {cpu.max: "50000 100000"}}\n'
        "workloads: [{cgroup: app, loop: forever, phases: [{for: 10s, cpu: 1}]}]\n"
        "expect: [{time: 2s, killed: 0}]"
    )
    outcome.samples.append(_sample(3, memory=4096, some=1_000_000))
    assert _titles(figure(outcome)) == [
        "<b>CPUs used</b>",
        "<b>Throttled periods, %</b>",
        "<b>Memory, MiB</b>",
        "<b>CPU pressure, % of the time</b>",
        "<b>Memory pressure, % of the time</b>",
    ]


def test_writes_and_kills_are_marked_when_they_were() -> None:
    outcome = _played(
        "cgroups: {app: }\n"
        "workloads: [{cgroup: app, name: web, phases: [{for: 10s, cpu: 1}]}]\n"
        "at: [{time: 3s, write: {app/cgroup.kill: 1}}]"
    )
    (kill,) = [mark.text for mark in outcome.marks if mark.kind == "kill"]
    shown = figure(outcome)
    assert kill.endswith(" (web) of app is killed")
    assert [(trace["y"], trace["x"], trace["text"]) for trace in _traces(shown, "y2")] == [
        (["kill"], [3.0], [kill]),
        (["write"], [3.0], ["1 &gt; app/cgroup.kill"]),
    ]
    assert [line["x0"] for line in shown["layout"]["shapes"]] == [3.0]  # type: ignore[index]


def test_of_many_cgroups_the_busiest_leaves_and_the_largest_are_shown_at_first() -> None:
    samples = [_sample(1, f"pods/{number:02}", number, memory=100 - number) for number in range(50)]
    outcome = Outcome(_SECOND, [_sample(1, "pods", 10**6, memory=10**6), *samples])
    shown = [trace["legendgroup"] for trace in _traces(figure(outcome), "y") if trace["visible"] is True]
    assert shown == [f"pods/{number:02}" for number in (*range(6), *range(44, 50))]


def test_a_name_is_never_markup() -> None:
    outcome = Outcome(_SECOND, [_sample(1, "<b>x</b>")], marks=[Mark(0, "write", "<img src=x> > a")])
    assert "<img" not in json.dumps(figure(outcome))
    assert _traces(figure(outcome), "y")[0]["name"] == "&lt;b&gt;x&lt;/b&gt;"


def test_the_time_is_below_the_last_panel() -> None:
    quiet = Outcome(_SECOND, [_sample(1, memory=4096)])
    marked = Outcome(_SECOND, [_sample(1, memory=4096)], marks=[Mark(0, "write", "x")])
    assert [figure(one)["layout"]["xaxis"]["anchor"] for one in (quiet, marked)] == ["y2", "y3"]  # type: ignore[index]
