"""The texts of /proc for simulated processes."""

from __future__ import annotations

import pytest

from fakecgroup import CpuTime, Kernel, MemoryUse, Workload
from fakecgroup.outside.simulated_tasks import FILES, SimulatedTask, oom_score, stat, statm, status

MIB = 1 << 20
TASK = SimulatedTask(
    8388608,
    "worker",
    "S",
    1000,
    4,
    0,
    0,
    5_000_000_000,
    CpuTime(30_000_000, 20_000_000, 10_000_000),
    MemoryUse(anon=64 * MIB, file=4 * MIB, tables=MIB, swap=8 * MIB),
    1024 * MIB,
)


def test_stat_has_the_fields_at_their_places() -> None:
    fields = stat(TASK).split()
    assert len(fields) == 52
    assert fields[:4] == ["8388608", "(worker)", "S", "1"]
    assert fields[13:15] == ["2", "1"]  # utime, stime
    assert fields[17:20] == ["20", "0", "4"]  # priority, nice, num_threads
    assert fields[21:24] == ["500", str(76 * MIB), str(68 * MIB // 4096)]  # starttime, vsize, rss


def test_status_has_sizes_in_kib() -> None:
    lines = dict(line.split(":\t", 1) for line in status(TASK).splitlines())
    assert lines["VmRSS"] == f"{68 * 1024:8d} kB"
    assert lines["VmSwap"] == f"{8 * 1024:8d} kB"
    assert (lines["State"], lines["Uid"], lines["Threads"]) == ("S (sleeping)", "1000\t1000\t1000\t1000", "4")


def test_statm_is_in_pages() -> None:
    assert statm(TASK) == f"{76 * 256} {68 * 256} {4 * 256} 0 0 {72 * 256} 0\n"


@pytest.mark.parametrize(("adj", "score"), [(0, 716), (-1000, 0), (1000, 1382), (-999, 50)])
def test_oom_score_follows_memory_and_adjustment(adj: int, score: int) -> None:
    assert oom_score(TASK._replace(oom_score_adj=adj)) == pytest.approx(score, abs=1)


def test_a_name_is_cut_as_the_kernel_cuts_it() -> None:
    assert FILES[b"comm"](TASK._replace(name="é" * 20)) == "é" * 7 + "\n"


def test_a_process_that_is_gone_has_no_files() -> None:
    kernel = Kernel()
    kernel.mkdir("/app")
    (pid,) = kernel.spawn("/app", Workload([{"for": "1s", "cpu": 1}], name="short"))
    kernel.advance(0.5)
    shown = kernel.simulated_task(pid)
    assert shown is not None
    assert (shown.name, shown.state) == ("short", "R")
    kernel.advance(1)
    assert kernel.simulated_task(pid) is None
