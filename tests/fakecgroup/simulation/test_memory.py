"""Memory of simulated processes: charges, limits, reclaim, memory.high's sleep and the OOM killer, on v2."""

from __future__ import annotations

from errno import EAGAIN

import pytest

from fakecgroup import Kernel, ProcessTable, Workload
from fakecgroup.core.cftype import PAGE_SIZE
from fakecgroup.tasks.joined_processes import JoinedProcesses
from fakecgroup.tasks.usage import MemoryUse

from .held import with_tables

_MIB = 1 << 20


def _kernel(**machine: object) -> Kernel:
    kernel = Kernel(clock=lambda: 0, **machine)  # type: ignore[arg-type]
    kernel.write("/cgroup.subtree_control", "+memory")
    return kernel


def _make(kernel: Kernel, path: str, **limits: int) -> None:
    above = path.rpartition("/")[0]
    if above:
        kernel.write(f"{above}/cgroup.subtree_control", "+memory")
    kernel.mkdir(path)
    for name, mib in limits.items():
        kernel.write(f"{path}/memory.{name.replace('_', '.')}", str(mib * _MIB))


def _hold(mib: int, **words: object) -> dict[str, object]:
    return {"for": "1h", "memory": f"{mib}Mi", **words}


def _grow(mib: int, start: int = 0) -> dict[str, object]:
    return {"for": "1h", "memory": {"start": f"{start}Mi", "grow": f"{mib}Mi/s"}}


def _spawn(kernel: Kernel, path: str, phase: dict[str, object], **options: object) -> int:
    (pid,) = kernel.spawn(path, Workload([phase], **options))  # type: ignore[arg-type]
    kernel.advance(0)
    return pid


def _mib(kernel: Kernel, file: str) -> float:
    return int(kernel.read(file)) / _MIB


def _keys(kernel: Kernel, file: str) -> dict[str, int]:
    return {line.split()[0]: int(line.split()[1]) for line in kernel.read(file).splitlines()}


def _killed(kernel: Kernel) -> list[int]:
    return [kill.pid for kill in kernel.kills]


# -- charges --------------------------------------------------------------------------------------------


def test_what_a_process_holds_is_charged_to_its_cgroup_and_those_above() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _make(kernel, "/a/b")
    _spawn(kernel, "/a/b", _hold(30, file="20Mi", kernel="10Mi"))
    assert _mib(kernel, "/a/b/memory.current") == with_tables(30) + 30
    assert _mib(kernel, "/a/memory.current") == pytest.approx(with_tables(30) + 30, abs=0.1)
    stat = _keys(kernel, "/a/b/memory.stat")
    assert (stat["anon"], stat["file"], stat["kernel"]) == (30 * _MIB, 20 * _MIB, 10 * _MIB + stat["pagetables"])


def test_page_tables_are_a_page_for_two_mib_and_one_for_a_gib() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _spawn(kernel, "/a", _hold(30))
    assert _keys(kernel, "/a/memory.stat")["pagetables"] == (15 + 1) * PAGE_SIZE


def test_page_tables_go_with_the_memory() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    kernel.spawn("/a", Workload([{"for": "1s", "memory": "30Mi"}, {"for": "1h", "memory": "2Mi"}]))
    kernel.advance(2)
    assert _mib(kernel, "/a/memory.current") == with_tables(2)


def test_page_tables_have_to_fit_into_memory_max_too() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=30)
    _spawn(kernel, "/a", _hold(30))
    assert len(_killed(kernel)) == 1
    assert _mib(kernel, "/a/memory.peak") == 30


def test_memory_grows_steadily_with_grow() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _spawn(kernel, "/a", _grow(10, start=5))
    kernel.advance(2.5)
    assert _mib(kernel, "/a/memory.current") == pytest.approx(30, abs=0.05)
    assert _keys(kernel, "/a/memory.stat")["anon"] == pytest.approx(30 * _MIB, rel=0.003)


def test_a_phase_that_does_not_state_memory_keeps_what_the_process_holds() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    kernel.spawn("/a", Workload([{"for": "2s", "memory": {"grow": "10Mi/s"}}, {"for": "10s", "cpu": 1}]))
    kernel.advance(7)
    assert _mib(kernel, "/a/memory.current") == 20


def test_an_exit_frees_what_the_process_held_and_the_peak_stays() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    kernel.spawn("/a", Workload([{"for": "2s", "memory": "70Mi"}]))
    kernel.advance(3)
    assert _mib(kernel, "/a/memory.current") == 0
    assert _mib(kernel, "/a/memory.peak") == with_tables(70)


def test_a_process_that_moves_leaves_its_charges_behind() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _make(kernel, "/b")
    pid = _spawn(kernel, "/a", _grow(10))
    kernel.advance(2)
    kernel.write("/b/cgroup.procs", str(pid))
    kernel.advance(3)
    assert (_mib(kernel, "/a/memory.current"), _mib(kernel, "/b/memory.current")) == (20, 30)


def test_a_frozen_process_does_not_grow() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _spawn(kernel, "/a", _grow(10))
    kernel.advance(1)
    kernel.write("/a/cgroup.freeze", "1")
    kernel.advance(5)
    kernel.write("/a/cgroup.freeze", "0")
    kernel.advance(1)
    assert _mib(kernel, "/a/memory.current") == 20


# -- the OOM killer -------------------------------------------------------------------------------------


def test_a_process_that_grows_over_memory_max_is_killed() -> None:
    """6.12.117 and 7.2 count 35 times `max` and one `oom`, and the peak is the limit."""
    kernel = _kernel()
    _make(kernel, "/a", max=50)
    pid = _spawn(kernel, "/a", _grow(40))
    kernel.advance(1.2)
    assert _killed(kernel) == []
    kernel.advance(0.1)
    assert [(kill.time, kill.pid) for kill in kernel.kills] == [(1_250_000_000, pid)]
    events = _keys(kernel, "/a/memory.events")
    assert (events["max"], events["oom"], events["oom_kill"]) == (35, 1, 1)
    assert _mib(kernel, "/a/memory.peak") == 50


def test_a_process_that_asks_for_more_than_the_limit_at_once_is_killed() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=50)
    pid = _spawn(kernel, "/a", _hold(80))
    assert _killed(kernel) == [pid]
    assert _mib(kernel, "/a/memory.peak") == 50


def test_the_biggest_process_is_killed_and_not_the_one_that_grows() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=100)
    big = _spawn(kernel, "/a", _hold(60))
    _spawn(kernel, "/a", _grow(10))
    kernel.advance(5)
    assert _killed(kernel) == [big]


def test_oom_score_adj_decides_who_is_killed() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=100)
    _spawn(kernel, "/a", _hold(60), oom_score_adj=-500)
    small = _spawn(kernel, "/a", _grow(10))
    kernel.advance(5)
    assert _killed(kernel) == [small]


def test_of_equal_processes_the_last_of_cgroup_procs_is_killed() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=100)
    pids = kernel.spawn("/a", Workload([_hold(30)], instances=3))
    kernel.spawn("/a", Workload([_grow(10)]))
    kernel.advance(2)
    assert _killed(kernel) == [pids[-1]]


def test_kills_count_in_the_victims_cgroup_and_oom_in_the_one_with_the_limit() -> None:
    """6.12.117: `oom 1, oom_kill 0` in the local events of the limit, `oom 0, oom_kill 1` in the cgroup below."""
    kernel = _kernel()
    _make(kernel, "/a", max=50)
    _make(kernel, "/a/b")
    _spawn(kernel, "/a/b", _hold(80))
    local, below = _keys(kernel, "/a/memory.events.local"), _keys(kernel, "/a/b/memory.events")
    assert (local["oom"], local["oom_kill"], below["oom"], below["oom_kill"]) == (1, 0, 0, 1)
    assert _keys(kernel, "/a/memory.events")["oom_kill"] == 1


def test_a_group_dies_together_but_for_the_immune_and_the_victim_counts_twice() -> None:
    """6.12.117 with three processes, one of them immune: oom_kill 3, oom_group_kill 1, the immune one lives."""
    kernel = _kernel()
    _make(kernel, "/a", max=60)
    kernel.write("/a/memory.oom.group", "1")
    first = _spawn(kernel, "/a", _hold(10))
    _spawn(kernel, "/a", _hold(10), oom_score_adj=-1000)
    last = _spawn(kernel, "/a", _hold(80))
    assert _killed(kernel) == [first, last]
    events = _keys(kernel, "/a/memory.events")
    assert (events["oom"], events["oom_kill"], events["oom_group_kill"]) == (1, 3, 1)


def test_where_all_are_immune_nobody_is_killed_and_the_process_stalls() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=50)
    _spawn(kernel, "/a", _hold(80), oom_score_adj=-1000)
    kernel.advance(10)
    assert _killed(kernel) == []
    assert _mib(kernel, "/a/memory.current") == 50
    assert "total=10000000\n" in kernel.read("/a/memory.pressure")


def test_a_raised_limit_lets_the_process_go_on_that_waited_for_room() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=50)
    _spawn(kernel, "/a", _hold(80), oom_score_adj=-1000)
    kernel.write("/a/memory.max", "100M")
    kernel.advance(1)
    assert _mib(kernel, "/a/memory.current") == with_tables(80)


def test_a_lowered_memory_max_kills_until_it_fits_and_the_write_succeeds() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    big, small = _spawn(kernel, "/a", _hold(50)), _spawn(kernel, "/a", _hold(40))
    kernel.write("/a/memory.max", "70M")
    assert _killed(kernel) == [big]
    kernel.write("/a/memory.max", "30M")
    assert _killed(kernel) == [big, small]
    assert _mib(kernel, "/a/memory.current") == 0


@pytest.mark.parametrize(
    ("version", "limit", "victims"), [("5.10", 70, 1), ("6.12", 70, 2), ("6.12", 90, 1), ("7.2", 90, 2)]
)
def test_a_lowered_memory_max_kills_once_more_while_a_victim_has_not_released_its_memory(
    version: str, limit: int, victims: int
) -> None:
    """Of 60 MiB a victim releases the first 37.9 MiB before the OOM killer of 6.12 looks past it."""
    kernel = _kernel(kernel=version)
    _make(kernel, "/a")
    for mib in (60, 50):
        _spawn(kernel, "/a", _hold(mib))
    kernel.write("/a/memory.max", f"{limit}M")
    assert len(_killed(kernel)) == victims


def test_a_machine_without_memory_kills_without_events_of_a_limit() -> None:
    kernel = _kernel(memory="1Gi")
    _make(kernel, "/a")
    _make(kernel, "/b")
    big = _spawn(kernel, "/a", _hold(700))
    _spawn(kernel, "/b", _grow(100))
    kernel.advance(4)
    assert _killed(kernel) == [big]
    events = _keys(kernel, "/a/memory.events")
    assert (events["max"], events["oom"], events["oom_kill"]) == (0, 0, 1)


# -- memory.high ----------------------------------------------------------------------------------------


def test_a_process_that_grows_over_memory_high_is_slowed_down_as_on_a_booted_kernel() -> None:
    """6.12.117, memory.high 60M and 40 MiB/s for 8.38 s: 69,730,304 bytes, high 394, stalled for 6.69 s."""
    kernel = _kernel()
    _make(kernel, "/a", high=60)
    _spawn(kernel, "/a", _grow(40))
    kernel.advance(8.38)
    assert int(kernel.read("/a/memory.current")) == 69_730_304
    assert _keys(kernel, "/a/memory.events")["high"] == 394
    stalled = int(kernel.read("/a/memory.pressure").splitlines()[0].rpartition("=")[2])
    assert stalled == pytest.approx(6_690_897, rel=0.01)


def test_batches_of_5_10_have_half_the_pages() -> None:
    """5.10.262, memory.high 60M and 40 MiB/s for 8.07 s: 68,288,512 bytes, high 601."""
    kernel = _kernel(kernel="5.10")
    _make(kernel, "/a", high=60)
    _spawn(kernel, "/a", _grow(40))
    kernel.advance(8.07)
    assert int(kernel.read("/a/memory.current")) == 68_288_512
    assert _keys(kernel, "/a/memory.events")["high"] == 601


def test_a_process_that_sleeps_for_memory_high_is_not_runnable() -> None:
    kernel = _kernel()
    _make(kernel, "/a", high=60)
    _spawn(kernel, "/a", {**_grow(40), "cpu": 1})
    kernel.advance(8.38)
    used = _keys(kernel, "/a/cpu.stat")["usage_usec"]
    assert used == pytest.approx(8_380_000 - 6_690_000, rel=0.03)


def test_memory_high_above_is_counted_there() -> None:
    kernel = _kernel()
    _make(kernel, "/a", high=60)
    _make(kernel, "/a/b")
    _spawn(kernel, "/a/b", _grow(40))
    kernel.advance(4)
    assert _keys(kernel, "/a/b/memory.events")["high"] == 0
    assert _keys(kernel, "/a/memory.events")["high"] > 0


# -- reclaim --------------------------------------------------------------------------------------------


def test_file_pages_are_reclaimed_before_anybody_is_killed() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=100)
    pid = _spawn(kernel, "/a", {**_grow(10), "file": "60Mi", "reclaimable": "50%"})
    kernel.advance(6.5)
    assert _killed(kernel) == []
    assert _keys(kernel, "/a/memory.stat")["file"] < 60 * _MIB
    kernel.advance(1)
    assert _killed(kernel) == [pid]


def test_reclaim_at_the_limit_is_memory_pressure() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=100)
    _spawn(kernel, "/a", {**_grow(10), "file": "90Mi"})
    kernel.advance(5)
    assert "total=0\n" not in kernel.read("/a/memory.pressure")


def test_a_cgroup_within_memory_min_keeps_its_file_pages() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=100)
    _make(kernel, "/a/kept", min=40)
    _make(kernel, "/a/other")
    _spawn(kernel, "/a/kept", _hold(0, file="40Mi"))
    other = _spawn(kernel, "/a/other", {**_grow(10), "file": "40Mi"})
    kernel.advance(7)
    assert _mib(kernel, "/a/kept/memory.current") == 40
    assert _killed(kernel) == [other]


def test_memory_low_is_broken_when_nothing_else_is_left_and_counts_as_an_event() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=100)
    _make(kernel, "/a/kept", low=40)
    _make(kernel, "/a/other")
    _spawn(kernel, "/a/kept", _hold(0, file="40Mi"))
    _spawn(kernel, "/a/other", _grow(10))
    kernel.advance(7)
    assert _mib(kernel, "/a/kept/memory.current") < 40
    assert _keys(kernel, "/a/kept/memory.events")["low"] > 0


def test_memory_reclaim_takes_what_it_can_and_says_so() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    _spawn(kernel, "/a", _hold(10, file="40Mi"))
    kernel.write("/a/memory.reclaim", "30M")
    assert _mib(kernel, "/a/memory.current") == with_tables(10) + 10
    with pytest.raises(OSError, match=r".*") as refused:
        kernel.write("/a/memory.reclaim", "30M")
    assert refused.value.errno == EAGAIN
    assert _mib(kernel, "/a/memory.current") == with_tables(10)


def test_anonymous_memory_goes_to_swap_before_anybody_is_killed() -> None:
    kernel = _kernel(swap="64Mi")
    _make(kernel, "/a", max=40)
    pid = _spawn(kernel, "/a", _grow(10))
    kernel.advance(7)
    assert _mib(kernel, "/a/memory.swap.current") == pytest.approx(30, abs=2)
    kernel.advance(5)
    assert _killed(kernel) == [pid]
    assert _mib(kernel, "/a/memory.swap.current") == 0
    assert _mib(kernel, "/a/memory.swap.peak") == 64


def test_memory_swap_max_bounds_what_goes_to_swap() -> None:
    kernel = _kernel(swap="64Mi")
    _make(kernel, "/a", max=40, swap_max=20)
    pid = _spawn(kernel, "/a", _grow(10))
    kernel.advance(5.9)
    assert _killed(kernel) == []
    kernel.advance(0.3)
    assert _killed(kernel) == [pid]
    assert _mib(kernel, "/a/memory.swap.peak") == 20


def test_the_same_scenario_twice_gives_the_same_bytes() -> None:
    def played() -> list[str]:
        kernel = _kernel(swap="64Mi")
        _make(kernel, "/a", max=100, high=80)
        for name in ("b", "c"):
            _make(kernel, f"/a/{name}")
            kernel.spawn(f"/a/{name}", Workload([{**_grow(7), "file": "15Mi"}], instances=2, loop="forever"))
        kernel.advance(30)
        return [kernel.read(f"/a/memory.{name}") for name in ("events", "stat", "current", "peak", "pressure")]

    assert played() == played()


def test_a_limit_is_reached_in_time_however_often_others_begin_a_phase() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=50)
    _make(kernel, "/b")
    pid = _spawn(kernel, "/a", _grow(10))
    kernel.spawn("/b", Workload([{"run": "3ms"}, {"sleep": "1700us"}], loop="forever"))
    kernel.advance(6)
    assert [(kill.time, kill.pid) for kill in kernel.kills] == [(5_000_000_000, pid)]
    assert _mib(kernel, "/a/memory.peak") == 50


def test_the_peak_has_what_a_process_grew_until_its_end() -> None:
    kernel = _kernel()
    _make(kernel, "/a")
    kernel.spawn("/a", Workload([{"for": "3s", "memory": {"grow": "10Mi/s"}}]))
    kernel.advance(10)
    assert _mib(kernel, "/a/memory.peak") == 30


def test_a_file_that_does_not_fit_is_read_through_the_room_that_there_is() -> None:
    kernel = _kernel()
    _make(kernel, "/a", max=50)
    _spawn(kernel, "/a", {"for": "1h", "memory": "40Mi", "file": "1Gi"})
    kernel.advance(2)
    assert _killed(kernel) == []
    stat = _keys(kernel, "/a/memory.stat")
    assert stat["file"] == 10 * _MIB - stat["pagetables"]
    assert stat["pgsteal"] == (1 << 30) // PAGE_SIZE - stat["file"] // PAGE_SIZE


def test_what_can_be_reclaimed_of_the_page_cache_is_inactive() -> None:
    kernel = Kernel(clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+memory")
    kernel.mkdir("/a")
    kernel.spawn("/a", Workload([{"for": "10s", "file": "100Mi", "reclaimable": "40%"}]))
    kernel.advance(1)
    stat = dict(line.split() for line in kernel.read("/a/memory.stat").splitlines())
    assert (int(stat["inactive_file"]) >> 20, int(stat["active_file"]) >> 20, int(stat["file"]) >> 20) == (40, 60, 100)


def test_page_cache_of_real_processes_is_no_reason_to_kill_simulated_ones() -> None:
    real = ProcessTable()
    kernel = _kernel(processes=JoinedProcesses(real))
    _make(kernel, "/a")
    _spawn(kernel, "/a", _hold(20))
    program = real.add()
    has = {program: MemoryUse(anon=4096)}
    real.memory_of = lambda pid: has.get(pid, MemoryUse())
    kernel.write("/a/cgroup.procs", str(program))
    has[program] = MemoryUse(anon=4096 + 10 * _MIB, file=40 * _MIB)
    assert _mib(kernel, "/a/memory.current") == with_tables(20) + 50
    kernel.write("/a/memory.max", "40M")
    assert (_killed(kernel), _keys(kernel, "/a/memory.events")["oom"]) == ([], 0)


@pytest.mark.parametrize("step", [20.0, 1.0, 0.25, 0.01])
def test_pressure_does_not_depend_on_the_steps_of_time(step: float) -> None:
    """The averages are updated each 2.004 s from when the cgroup was made: with 15 percent once, then with 100."""
    kernel = _kernel()
    _make(kernel, "/a", max=8)
    kernel.spawn("/a", Workload([_hold(20)], oom_score_adj=-1000, delay="1700ms"))
    for _ in range(int(20 / step)):
        kernel.advance(step)
    assert kernel.read("/a/memory.pressure").startswith("some avg10=80.33 ")
