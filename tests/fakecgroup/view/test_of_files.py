"""What the page says of the files of a cgroup."""

from __future__ import annotations

import pytest

from fakecgroup.view.node import Meter
from fakecgroup.view.of_files import meters_of, notes_of

MIB = 1 << 20


@pytest.mark.parametrize(
    ("files", "meter"),
    [
        ({"memory.current": "5\n", "memory.max": "max\n"}, Meter("memory", "bytes", 5, None)),
        ({"memory.current": "5\n", "memory.max": "4096\n"}, Meter("memory", "bytes", 5, 4096)),
        (
            {"memory.usage_in_bytes": "5\n", "memory.limit_in_bytes": "9223372036854771712\n"},
            Meter("memory", "bytes", 5, None),
        ),
        ({"memory.usage_in_bytes": "5", "memory.limit_in_bytes": "8192"}, Meter("memory", "bytes", 5, 8192)),
        ({"pids.current": "3\n", "pids.max": "10\n"}, Meter("pids", "count", 3, 10)),
        ({"cpu.max": "50000 100000\n"}, Meter("CPU", "cpus", None, 0.5)),
        ({"cpu.max": "max 100000\n"}, Meter("CPU", "cpus", None, None)),
        ({"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, Meter("CPU", "cpus", None, None)),
        ({"cpu.cfs_quota_us": "20000\n", "cpu.cfs_period_us": "10000\n"}, Meter("CPU", "cpus", None, 2)),
        (
            {"hugetlb.2MB.current": "2097152\n", "hugetlb.2MB.max": "max\n"},
            Meter("huge pages of 2MB", "bytes", 2 * MIB, None),
        ),
    ],
)
def test_a_meter_is_read_from_both_versions(files: dict[str, str], meter: Meter) -> None:
    assert meters_of(files) == [meter]


def test_huge_pages_that_nobody_limits_or_uses_are_left_out() -> None:
    assert meters_of({"hugetlb.1GB.current": "0", "hugetlb.1GB.max": "max"}) == []


@pytest.mark.parametrize(
    ("files", "alarming", "notes"),
    [
        ({"memory.events": "low 0\noom_kill 2\n"}, ["2 killed for want of memory"], []),
        ({"memory.oom_control": "oom_kill_disable 1\nunder_oom 1\noom_kill 0\n"}, ["waits for memory"], []),
        (
            {"cpu.stat": "usage_usec 2500000\nnr_periods 200\nnr_throttled 80\n"},
            ["throttled in 40 % of 200 periods"],
            ["2.5 s of CPU time"],
        ),
        ({"cpu.stat": "nr_periods 200\nnr_throttled 2\n"}, [], ["throttled in 1 % of 200 periods"]),
        ({"cpuacct.usage": "1500000000\n"}, [], ["1.5 s of CPU time"]),
        ({"memory.pressure": "some avg10=44.20 avg60=1.00 avg300=0.00 total=5\n"}, ["memory pressure 44 %"], []),
        ({"io.pressure": "some avg10=2.00 avg60=1.00 avg300=0.00 total=5\n"}, [], ["io pressure 2 %"]),
        ({"cgroup.freeze": "1\n"}, [], ["frozen"]),
        ({"freezer.state": "FROZEN\n"}, [], ["frozen"]),
        ({"memory.current": "9000\n", "memory.high": "8192\n"}, ["uses more than memory.high"], []),
        ({"cpu.weight": "39\n"}, [], ["weight 39"]),
        ({"cpu.weight": "100\n", "pids.max": "max\n"}, [], []),
        ({"memory.events": "nonsense", "cpu.stat": "\x00", "memory.pressure": "some"}, [], []),
    ],
)
def test_what_needs_a_look_is_said(files: dict[str, str], alarming: list[str], notes: list[str]) -> None:
    assert notes_of(files) == (alarming, notes)
