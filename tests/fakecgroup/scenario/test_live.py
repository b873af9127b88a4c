"""Scenarios that go on as a clock does, beside other processes."""

from __future__ import annotations

import pytest

from fakecgroup import JoinedProcesses, Kernel, ProcessTable
from fakecgroup.scenario import ScenarioError, read_scenario
from fakecgroup.scenario.live import LiveScenarios
from fakecgroup.tasks.tid import FIRST_SIMULATED

SECOND = 1_000_000_000

BUSY = """
cgroups:
  app: {pids.max: max, cpu.max: "50000 100000"}
workloads:
  - {name: busy, cgroup: app, instances: 2, loop: forever, phases: [{for: 10s, cpu: 1}]}
"""


class Live:
    """A kernel with real processes (a table) and live scenarios, and a clock that a test moves."""

    def __init__(self, speed: float = 1.0) -> None:
        self.real = ProcessTable()
        processes = JoinedProcesses(self.real)
        self.kernel = Kernel(processes=processes, cpus=4)
        self.now = 0
        self.refused: list[str] = []
        self.scenarios = LiveScenarios(self.kernel, processes, lambda: self.now, speed, self.refused.append)

    def add(self, text: str) -> list[str]:
        return self.scenarios.add(read_scenario(text))

    def wait(self, seconds: float) -> None:
        for _ in range(10):
            self.now += round(seconds * SECOND / 10)
            self.scenarios.catch_up()

    def numbers(self, path: str) -> dict[str, int]:
        return {line.split()[0]: int(line.split()[1]) for line in self.kernel.read(path).splitlines()}


@pytest.fixture
def live() -> Live:
    return Live()


def pids(live: Live, cgroup: str = "app") -> list[int]:
    return [int(pid) for pid in live.kernel.read(f"/{cgroup}/cgroup.procs").split()]


def test_pids_are_out_of_a_machines_range(live: Live) -> None:
    live.add(BUSY)
    assert all(pid >= FIRST_SIMULATED > 4_194_304 for pid in pids(live))


def test_simulated_processes_are_listed_beside_real_ones(live: Live) -> None:
    live.add(BUSY)
    real = live.real.add()
    live.kernel.write("/app/cgroup.procs", str(real))
    assert [pid for pid in pids(live) if pid < FIRST_SIMULATED] == [real]
    assert live.kernel.read("/app/pids.current") == "3\n"


def test_cpu_time_goes_on_with_the_clock(live: Live) -> None:
    live.add(BUSY)
    live.wait(10)
    assert live.numbers("/app/cpu.stat")["usage_usec"] == pytest.approx(5e6, rel=0.03)


def test_virtual_time_is_as_fast_as_asked_for() -> None:
    live = Live(speed=60)
    live.add(BUSY)
    live.wait(1)
    assert live.scenarios.time == 60 * SECOND
    assert live.numbers("/app/cpu.stat")["nr_periods"] == pytest.approx(600, abs=2)


def test_writes_happen_at_their_time_after_the_scenario_was_added(live: Live) -> None:
    live.add(BUSY)
    live.wait(5)
    live.add("at: [{time: 2s, write: {app/cpu.max: max}}]")
    live.wait(1.9)
    before = live.kernel.read("/app/cpu.max")
    live.wait(0.2)
    assert (before, live.kernel.read("/app/cpu.max")) == ("50000 100000\n", "max 100000\n")


def test_a_write_that_the_kernel_refuses_is_told_and_time_goes_on(live: Live) -> None:
    live.add(BUSY + "at: [{time: 1s, write: {app/cpu.max: nonsense}}]")
    live.wait(2)
    assert len(live.refused) == 1
    assert "Invalid argument" in live.refused[0]
    assert live.scenarios.time == 2 * SECOND


def test_cgroup_kill_ends_them(live: Live) -> None:
    live.add(BUSY)
    live.wait(1)
    live.kernel.write("/app/cgroup.kill", "1")
    live.scenarios.catch_up()
    assert pids(live) == []
    assert "populated 0\n" in live.kernel.read("/app/cgroup.events")


def test_a_frozen_cgroup_uses_nothing_more(live: Live) -> None:
    live.add(BUSY)
    live.wait(1)
    live.kernel.write("/app/cgroup.freeze", "1")
    used = live.kernel.read("/app/cpu.stat")
    live.wait(1)
    assert live.kernel.read("/app/cpu.stat").splitlines()[0] == used.splitlines()[0]


def test_they_can_be_moved(live: Live) -> None:
    live.add(BUSY)
    live.kernel.mkdir("/other")
    live.kernel.write("/other/cgroup.procs", str(pids(live)[0]))
    live.wait(1)
    assert len(pids(live)) == len(pids(live, "other")) == 1
    assert live.numbers("/other/cpu.stat")["usage_usec"] == pytest.approx(1e6, rel=0.01)


def test_a_paused_workload_uses_nothing_until_it_is_resumed(live: Live) -> None:
    live.add(BUSY)
    live.scenarios.pause("busy", True)
    live.wait(1)
    assert live.numbers("/app/cpu.stat")["usage_usec"] == 0
    live.scenarios.pause("busy", False)
    live.wait(1)
    assert live.numbers("/app/cpu.stat")["usage_usec"] > 0


def test_a_removed_workload_is_gone_and_was_not_killed(live: Live) -> None:
    live.add(BUSY)
    live.scenarios.remove("busy")
    assert pids(live) == []
    assert live.kernel.killed() == 0
    assert list(live.scenarios.running()) == []


def test_a_name_that_is_taken_gets_a_number(live: Live) -> None:
    assert live.add(BUSY) + live.add(BUSY) == ["busy", "busy-2"]


def test_of_a_scenario_that_is_refused_no_process_is_left(live: Live) -> None:
    with pytest.raises(ScenarioError, match="no process can be in nowhere"):
        live.add(BUSY + "  - {cgroup: nowhere, phases: [{for: 1s, cpu: 1}]}")
    assert pids(live) == []


def test_the_next_event_is_the_end_of_a_phase(live: Live) -> None:
    live.add("cgroups: {app: }\nworkloads: [{cgroup: app, phases: [{sleep: 3s}]}]")
    live.wait(1)
    assert live.scenarios.next_call() == pytest.approx(2)


def test_nothing_is_to_be_called_when_nothing_will_happen(live: Live) -> None:
    live.add("cgroups: {app: }\nworkloads: [{cgroup: app, phases: [{for: 1s, cpu: 1}]}]")
    live.wait(2)
    assert live.scenarios.next_call() is None


def test_real_processes_are_not_counted_as_killed_or_charged(live: Live) -> None:
    live.add(BUSY)
    real = live.real.add()
    live.kernel.write("/app/cgroup.procs", str(real))
    live.kernel.write("/app/cgroup.kill", "1")
    live.scenarios.catch_up()
    assert live.kernel.killed() == 2


def test_time_may_be_let_pass_at_once_and_then_goes_on_from_there(live: Live) -> None:
    live.add(BUSY)
    live.scenarios.advance(60 * SECOND)
    assert live.numbers("/app/cpu.stat")["nr_periods"] == pytest.approx(600, abs=1)
    live.wait(10)
    assert live.numbers("/app/cpu.stat")["nr_periods"] == pytest.approx(700, abs=1)


def test_with_speed_0_time_passes_in_no_other_way() -> None:
    live = Live(speed=0)
    live.add(BUSY)
    live.wait(100)
    assert live.scenarios.next_call() is None
    assert live.numbers("/app/cpu.stat")["usage_usec"] == 0
    live.scenarios.advance(10 * SECOND)
    assert live.numbers("/app/cpu.stat")["usage_usec"] == pytest.approx(5_000_000, rel=0.02)
