"""/proc/cpuinfo, stat, uptime and status of a machine with other CPUs than the one below."""

from __future__ import annotations

from fakecgroup import Kernel
from fakecgroup.outside import cpu_texts

CPUINFO = b"".join(
    b"processor\t: %d\nphysical id\t: 0\nsiblings\t: 2\ncore id\t\t: %d\ncpu cores\t: 2\nflags\t\t: fpu vme\n\n"
    % (cpu, cpu)
    for cpu in range(2)
)
STAT = b"""cpu  30 3 12 1500 6 0 0 0 0 0
cpu0 10 1 4 700 2 0 0 0 0 0
cpu1 20 2 8 800 4 0 0 0 0 0
intr 77 0 1
ctxt 5
btime 1700000000
processes 9
procs_running 1
procs_blocked 0
softirq 3 1 2
"""
STATUS = b"Name:\tsh\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nMems_allowed:\t1\nMems_allowed_list:\t0\nlast:\t1\n"


def cpuinfo(real: bytes, kernel: Kernel) -> bytes:
    return cpu_texts.cpuinfo(real, kernel.machine, kernel.cpus)


def stat(kernel: Kernel) -> bytes:
    """The text 10.5 s after the boot."""
    return cpu_texts.stat(STAT, kernel.machine, kernel.cpus, 10.5)


def test_cpuinfo_has_a_block_for_each_cpu_and_a_package_for_each_node() -> None:
    text = cpuinfo(CPUINFO, Kernel(cpus=6, numa_nodes=2))
    blocks = text.decode().split("\n\n")[:-1]
    assert len(blocks) == 6
    assert blocks[4].splitlines() == [
        *(
            "processor\t: 4",
            "physical id\t: 1",
            "siblings\t: 3",
            "core id\t\t: 1",
            "cpu cores\t: 3",
            "flags\t\t: fpu vme",
        ),
    ]


def test_cpuinfo_keeps_what_follows_the_blocks() -> None:
    text = cpuinfo(b"processor\t: 0\nBogoMIPS\t: 1\n\nSerial\t: 7\n", Kernel(cpus=2))
    assert text == b"processor\t: 0\nBogoMIPS\t: 1\n\nprocessor\t: 1\nBogoMIPS\t: 1\n\nSerial\t: 7\n"


def test_stat_has_idle_cpus_where_the_machine_below_has_none() -> None:
    lines = stat(Kernel(cpus=3)).decode().splitlines()
    assert lines[:4] == [
        *("cpu  30 3 12 2550 6 0 0 0 0 0", "cpu0 10 1 4 700 2 0 0 0 0 0", "cpu1 20 2 8 800 4 0 0 0 0 0"),
        "cpu2 0 0 0 1050 0 0 0 0 0 0",
    ]
    assert lines[4:] == STAT.decode().splitlines()[3:]


def test_stat_of_a_smaller_machine_has_its_first_cpus() -> None:
    lines = stat(Kernel(cpus=1)).decode().splitlines()
    assert lines[:3] == ["cpu  10 1 4 700 2 0 0 0 0 0", "cpu0 10 1 4 700 2 0 0 0 0 0", "intr 77 0 1"]


def test_uptime_counts_the_idle_time_of_all_cpus() -> None:
    assert cpu_texts.uptime(b"100.00 150.00\n", Kernel(cpus=4).machine, 2) == b"100.00 350.00\n"
    assert cpu_texts.uptime(b"100.00 150.00\n", Kernel(cpus=1).machine, 2) == b"100.00 75.00\n"


def test_status_tells_which_cpus_and_nodes_a_task_may_use() -> None:
    text = cpu_texts.status(STATUS, Kernel(cpus=40, numa_nodes=2).machine, 0x8000000001, 3).decode()
    nodes = ",".join(["00000000"] * 31 + ["00000003"])
    assert text.splitlines() == [
        *("Name:\tsh", "Cpus_allowed:\t80,00000001", "Cpus_allowed_list:\t0,39"),
        *(f"Mems_allowed:\t{nodes}", "Mems_allowed_list:\t0-1", "last:\t1"),
    ]


def test_a_cpu_that_is_offline_has_no_block_and_no_line_but_counts_in_the_sum() -> None:
    kernel = Kernel(cpus=3)
    kernel.set_cpu_online(1, False)
    assert [line for line in cpuinfo(CPUINFO, kernel).decode().splitlines() if line[:4] in ("proc", "sibl")] == [
        *("processor\t: 0", "siblings\t: 2", "processor\t: 2", "siblings\t: 2"),
    ]
    assert stat(kernel).decode().splitlines()[:3] == [
        *("cpu  30 3 12 2550 6 0 0 0 0 0", "cpu0 10 1 4 700 2 0 0 0 0 0", "cpu2 0 0 0 1050 0 0 0 0 0 0"),
    ]
