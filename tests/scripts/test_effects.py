"""Scenarios as the guest takes them, what it says, and when the model agrees; nothing here boots a machine."""

from __future__ import annotations

import pytest

from fakecgroup_mount.vm.errors import MachineError
from oracle_vm.effects import averages, known_gaps
from oracle_vm.effects.catalogue import Entry, catalogue
from oracle_vm.effects.plan import lines_of
from oracle_vm.effects.recording import KERNELS, load
from oracle_vm.effects.rules import BATCH, EXACT, PERIODS, SHARE, SPREAD
from oracle_vm.effects.seen import runs_of

_SCENARIO = """\
machine: {cpus: 1}
cgroups:
  a/b: {cpu.max: "20000 100000", memory.max: 50Mi}
workloads:
  - {name: web, cgroup: a/b, instances: 2, nice: 5, loop: forever,
     phases: [{run: 35ms}, {for: 1s, memory: {grow: 1Mi/s}}]}
at:
  - {time: 2s, write: {a/b/cpu.max: max}}
expect:
  - {time: 2s, file: a/b/cpu.stat, key: nr_periods, between: [1, 100]}
"""


def test_a_scenario_becomes_lines() -> None:
    assert list(lines_of("one", Entry("one", _SCENARIO, 3), 3)) == [
        "cgroup a",
        "cgroup a/b",
        "write cgroup.subtree_control +cpu",
        "write cgroup.subtree_control +memory",
        "write a/cgroup.subtree_control +cpu",
        "write a/cgroup.subtree_control +memory",
        "write a/b/cpu.max 20000 100000",
        "write a/b/memory.max 52428800",
        *(
            line
            for number in (0, 1)
            for line in (
                f"task web-{number} a/b 5 0 1 0 -1",
                "phase run 35000000 1 -1 0 -1 -1 0 0 0 0:0",
                "phase sleep 1000000000 0 -1 1048576 -1 -1 0 0 0 0:0",
            )
        ),
        "file a/b/cpu.stat",
        "at 0 look",
        "at 2000000000 write a/b/cpu.max max",
        "at 2000000000 look",
        "play one 3",
    ]


@pytest.mark.parametrize("phase", ["{for: 1s, cpu: 500m}", "{for: 1s, kernel: 1Mi}"])
def test_what_the_guest_cannot_do_is_refused(phase: str) -> None:
    text = f"machine: {{cpus: 1}}\ncgroups: {{a: {{}}}}\nworkloads:\n  - {{cgroup: a, phases: [{phase}]}}\n"
    with pytest.raises(MachineError, match="s:4:5: the guest's tasks"):
        list(lines_of("one", Entry("s", text, 1), 1))


def test_what_the_guest_says_becomes_runs() -> None:
    (run,) = runs_of(["run one 0", "look 0", "= a/cpu.stat usage_usec 5", "killed web-1 17", "exited web-0 18", "done"])
    assert (run.name, run.looks, run.killed) == ("one", {0: {"a/cpu.stat": ["usage_usec 5"]}}, [("web-1", 17)])


def test_a_run_whose_write_is_refused_is_none() -> None:
    with pytest.raises(MachineError, match=r"one: refused a/cpu\.max x: Invalid argument"):
        runs_of(["run one 0", "refused a/cpu.max x: Invalid argument"])


@pytest.mark.parametrize(
    ("rule", "runs", "agreeing", "differing"),
    [
        (EXACT, [1, 1], 1, 2),
        (SHARE, [1e6, 1.1e6], 1.07e6, 1.08e6),
        (SPREAD, [100, 200], 204, 205),
        (PERIODS, [600, 600], 606, 607),
        (BATCH, [4096 * 100], 4096 * 164, 4096 * 165),
    ],
)
def test_a_rule_has_a_bound(rule: object, runs: list[float], agreeing: float, differing: float) -> None:
    assert rule.agrees(runs, agreeing)  # type: ignore[attr-defined]
    assert not rule.agrees(runs, differing)  # type: ignore[attr-defined]


def test_there_are_sixty_random_trees_on_one_cpu_and_twelve_on_two() -> None:
    names = [entry.name for entry in catalogue()]
    assert len(set(names)) == len(names)
    assert sum(name.startswith("tree-1-") for name in names) == 60
    assert sum(name.startswith("tree-2-") for name in names) == 12


def test_a_known_gap_is_of_a_recorded_number() -> None:
    recorded = {(kernel, one.entry.name) for kernel in KERNELS for one in load(kernel)}
    for kernel, name, _ in known_gaps.GAPS:
        assert any(found == (kernel or found[0], name) for found in recorded), f"{name} is not recorded"


def test_a_change_of_averages_is_kept_with_the_totals_before_and_after_it() -> None:
    said = [
        "look 0",
        "changed 1000 6000",
        "before some avg10=0.00 avg60=0.00 avg300=0.00 total=7",
        "before full avg10=0.00 avg60=0.00 avg300=0.00 total=3",
        "after some avg10=9.05 avg60=1.63 avg300=0.34 total=8",
        "after full avg10=0.00 avg60=0.00 avg300=0.00 total=3",
        "done",
    ]
    assert list(averages.rows_of(said)) == [
        {"from": 1000, "to": 6000, "total": [[7, 8], [3, 3]], "shown": [[9.05, 1.63, 0.34], [0.0, 0.0, 0.0]]}
    ]


def test_a_guest_that_could_not_set_a_quota_has_no_averages() -> None:
    with pytest.raises(MachineError, match=r"refused app/cpu\.max"):
        list(averages.rows_of(["refused app/cpu.max 1: Invalid argument"]))
