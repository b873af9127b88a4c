"""What threads asked for is remembered for them and for their children."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.calls.told_affinities import ToldAffinities, real_cpus

CPUS = 64


@pytest.fixture
def real() -> list[int]:
    """The CPUs of the machine below."""
    return sorted(os.sched_getaffinity(0))


@pytest.fixture
def told(real: list[int]) -> ToldAffinities:
    return ToldAffinities(real, CPUS)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process of our own."""
    with subprocess.Popen(["sleep", "100"]) as process:
        yield process.pid
        process.kill()


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_who_has_asked_for_nothing_is_told_nothing(told: ToldAffinities, sleeper: int) -> None:
    assert told.told(sleeper) is None


def test_the_last_mask_that_was_asked_for_is_told(told: ToldAffinities, real: list[int], sleeper: int) -> None:
    told.tell(sleeper, 1 << 60, set(real), now())
    told.tell(sleeper, 1 << 7, set(real), now())
    assert told.told(sleeper) == 1 << 7


def test_a_real_affinity_that_nobody_asked_for_stands_for_the_cpus_that_lead_to_it(sleeper: int) -> None:
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(sleeper, {cpu})
    assert ToldAffinities([cpu, cpu + 1], 4).told(sleeper) == 0b0101


def test_a_process_that_is_gone_has_none(told: ToldAffinities) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with pytest.raises(OSError):
        told.told(process.pid)


@pytest.mark.parametrize("ended", [False, True])
def test_a_child_has_what_its_parent_asked_for(told: ToldAffinities, real: list[int], ended: bool) -> None:
    script = "read line; sleep 100 & echo $!; read line"
    with subprocess.Popen(["sh", "-c", script], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        told.tell(parent.pid, 1 << 60, set(real), now())
        print(file=parent.stdin, flush=True)
        child = int(parent.stdout.readline())
        try:
            if ended:
                told.hand_down(parent.pid)
                parent.kill()
                parent.wait()
            assert told.told(child) == 1 << 60
        finally:
            os.kill(child, 9)
            parent.kill()


def test_programs_run_on_no_more_cpus_than_the_stated_machine_has(real: list[int]) -> None:
    machine = Kernel(cpus=1).machine
    assert (real_cpus(machine, frozenset(("cpus",))), real_cpus(machine, frozenset())) == (real[:1], real)
