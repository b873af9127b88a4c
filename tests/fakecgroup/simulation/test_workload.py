"""Workloads in the words of a scenario."""

from __future__ import annotations

import json

import pytest

from fakecgroup import Workload
from fakecgroup.simulation.phase import Phase
from fakecgroup.simulation.words import parse_cpu, parse_duration


def test_cpu_carries_over_to_later_phases() -> None:
    workload = Workload([{"for": "1s", "cpu": "1.5"}, {"sleep": "1s"}, {"for": "2s"}, {"run": "35ms"}])
    second = 1_000_000_000
    assert workload.phases == (
        Phase(second, None, 1.5),
        Phase(second, None, 0.0),
        Phase(2 * second, None, 1.5),
        Phase(None, 35_000_000, 1.0),
    )
    assert workload.threads == 2


def test_its_words_make_the_same_workload_again() -> None:
    phases = ({"for": 10, "cpu": 0.5, "memory": {"grow": "1Mi/s"}, "hugetlb": {"2Mi": "4Mi"}}, {"run": "35ms"})
    workload = Workload(phases, name="w", instances=2, threads=3, nice=-5, delay=1.5, loop="forever", restart="always")
    again = Workload(**json.loads(json.dumps(workload.words)))
    assert vars(again) == vars(workload)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "phases: there must be a list of at least one"),
        ([{"cpu": 1}], r"phases\[0\]: one of for, run and sleep is needed"),
        ([{"for": "1s", "sleep": "1s"}], r"phases\[0\]: one of for, run and sleep is needed"),
        ([{"for": "soon"}], r"phases\[0\]\.for: 'soon' is no time"),
        ([{"for": "1s", "cpu": "-1"}], r"phases\[0\]\.cpu: '-1' is no amount of CPU"),
        ([{"sleep": "1s", "cpu": "1"}], r"phases\[0\]: cpu goes with for"),
        ([{"for": "1s", "io": "1Mi"}], r"phases\[0\]\.io: '1Mi' is no mapping such as"),
        ([{"for": "1s", "cores": "1"}], r"phases\[0\]: no key 'cores'"),
        (["10s"], r"phases\[0\]: '10s' is no mapping"),
    ],
)
def test_a_wrong_phase_is_named(words: list[dict[str, object]], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Workload(words)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"instances": "-1"}, "instances: '-1' is no whole number"),
        ({"nice": 20}, "nice: '20' is no whole number from -20 to 19"),
        ({"oom_score_adj": "x"}, "oom_score_adj: 'x' is no whole number"),
        ({"loop": "0"}, "loop: '0' is no whole number"),
        ({"threads": 1}, "threads: 1 cannot use 2 CPUs"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Workload([{"for": "1s", "cpu": 2}], **options)


def test_a_loop_that_takes_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="no phase takes any time"):
        Workload([{"sleep": "0s"}], loop="forever")


@pytest.mark.parametrize(
    ("text", "ns"), [("10s", 10**10), ("1.5", 1_500_000_000), ("35ms", 35_000_000), ("2h", 7200 * 10**9), ("7us", 7000)]
)
def test_times_are_read(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "1e3", "9" * 40, "999999999999h", "1.s", "١s"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time|is too long"):
        parse_duration(text)


@pytest.mark.parametrize(("text", "cpus"), [("1.5", 1.5), ("200m", 0.2), ("0", 0.0)])
def test_amounts_of_cpu_are_read(text: str, cpus: float) -> None:
    assert parse_cpu(text) == pytest.approx(cpus)
