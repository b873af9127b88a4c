"""Scenarios as YAML, and what is said of wrong ones."""

from __future__ import annotations

import pytest

from fakecgroup.scenario import ScenarioError, read_scenario

_WHOLE = """\
machine: {kernel: 5.10, cpus: 2, memory: 4Gi, block-devices: 259:0}
seed: 7
cgroups:
  app: {cpu.max: "50000 100000", memory.max: 512Mi}
  app/inner:
workloads:
  - {cgroup: app/inner, instances: 2, delay: 1s, loop: forever, phases: [{for: 10s, cpu: 1.5}, {run: 35ms}]}
at:
  - {time: 30s, write: {app/memory.max: 256Mi, app/cgroup.procs: [1, 2]}}
expect:
  - {time: 60s, file: app/cpu.stat, key: nr_throttled, between: [95, 1e6]}
  - {time: 60s, file: app/cgroup.events, has: "populated 1"}
  - {time: 61s, killed: 1, cgroup: app}
"""


def test_all_parts_are_read() -> None:
    scenario = read_scenario(_WHOLE)
    assert scenario.machine == {"kernel": "5.10", "cpus": "2", "memory": "4Gi", "block_devices": "259:0"}
    assert scenario.seed == 7
    assert [(one.path, [write.text for write in one.writes]) for one in scenario.cgroups] == [
        ("app", ["50000 100000", str(512 << 20)]),
        ("app/inner", []),
    ]
    (placed,) = scenario.workloads
    assert (placed.cgroups, placed.workload.instances, placed.workload.loop) == (("app/inner",), 2, None)
    assert [write.text for write in scenario.at[0].writes] == [str(256 << 20), "1", "2"]
    assert [one.between for one in scenario.expect] == [(95, 1e6), None, None]
    assert (scenario.ends, scenario.endless) == (61 * 10**9, True)


@pytest.mark.hostile("a wrong scenario", times=24)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "s.yaml: it is empty"),
        ("a: [", "s.yaml:1:5: "),
        ("\0", "s.yaml: this is no YAML: "),
        ("- a", "s.yaml:1:1: a mapping is needed here"),
        ("cgroup: {}", "s.yaml:1:1: no key 'cgroup'; there is machine, "),
        ("seed: 1\nseed: 2", "s.yaml:2:1: 'seed' is here twice"),
        ("seed: -1", "s.yaml:1:7: '-1' is no whole number"),
        ("machine: {cpu: 3}", "s.yaml:1:11: no key 'cpu'; there is layout, kernel, "),
        ("machine: {cpus: none}", "s.yaml:1:17: 'none' is not a whole number"),
        ("cgroups: {../a: {}}", "s.yaml:1:11: '../a' is no path below the root"),
        ("cgroups: {a: [x]}", "s.yaml:1:14: a mapping is needed here"),
        ("cgroups: {a: {b: {c: d}}}", "s.yaml:1:18: a single value is needed here"),
        ("workloads: {}", "s.yaml:1:12: a list is needed here"),
        ("workloads:\n  - {phases: []}", "s.yaml:2:5: cgroup is missing"),
        ("workloads:\n  - {cgroup: a, phases: []}", "s.yaml:2:25: phases: there must be a list"),
        ("workloads:\n  - {cgroup: a, instance: 2}", "s.yaml:2:17: no key 'instance'; there is name, "),
        ("workloads:\n  - {cgroup: a, phases: [{for: 1s, io: {}}]}", "s.yaml:2:40: phases[0].io: device is missing"),
        ("workloads:\n  - {cgroup: a, phases: [{for: 1s, momory: 1}]}", "s.yaml:2:36: phases[0]: no key 'momory'"),
        (
            "workloads:\n  - cgroup: a\n    phases:\n      - for: 1s\n        memory: {grow: 5}",
            "s.yaml:5:24: phases[0].memory.grow: '5' is no ",
        ),
        ("workloads:\n  - {cgroup: a, restart: no, phases: [{for: 1s}]}", "s.yaml:2:26: restart: 'no' is neither "),
        ("at:\n  - {write: {a: b}}", "s.yaml:2:5: time is missing"),
        ("expect:\n  - {time: 1s}", "s.yaml:2:5: one of file and killed is needed"),
        ("expect:\n  - {time: 1s, file: a}", "s.yaml:2:5: one of has and between is needed"),
        ("expect:\n  - {time: 1s, file: a, between: [1]}", "s.yaml:2:34: between takes two numbers"),
        ("expect:\n  - {time: 1s, file: a, between: [2, 1]}", "s.yaml:2:34: the first number is greater"),
        ("expect:\n  - {time: 1s, file: a, between: [x, 1]}", "s.yaml:2:35: 'x' is no number"),
        ("expect:\n  - {time: 1s, killed: 1, has: a}", "s.yaml:2:32: has does not go with killed"),
    ],
)
def test_a_wrong_scenario_is_one_line_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        read_scenario(text, "s.yaml")
    assert str(refusal.value).startswith(problem)
    assert "\n" not in str(refusal.value)


@pytest.mark.hostile("a scenario that is far too deep or too long", times=2)
@pytest.mark.parametrize("text", ["[" * 100_000, "a" * (5 << 20)])
def test_a_scenario_without_bounds_is_one_line(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"^s\.yaml: ") as refusal:
        read_scenario(text, "s.yaml")
    assert "\n" not in str(refusal.value)
