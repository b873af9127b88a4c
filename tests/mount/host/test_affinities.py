"""What threads have is remembered for them and for those that they make, and real affinities follow it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from fakecgroup.machine.online_cpus import OnlineCpus
from fakecgroup.outside.affinities import stand_ins
from fakecgroup.tasks.affinity import Affinity
from fakecgroup_mount.host.affinities import HostAffinities
from fakecgroup_mount.host.real_cpus import real_cpus

CPUS = 64
ALL = (1 << CPUS) - 1
REAL = sorted(os.sched_getaffinity(0))
BELOW = stand_ins(CPUS, REAL, same_machine=False)


@pytest.fixture
def affinities() -> HostAffinities:
    return HostAffinities(OnlineCpus(CPUS), BELOW)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process of our own."""
    with subprocess.Popen(["sleep", "100"]) as process:
        yield process.pid
        process.kill()


def test_who_was_told_nothing_has_all_cpus(affinities: HostAffinities, sleeper: int) -> None:
    assert affinities.of(sleeper) == Affinity(ALL)


def test_who_asks_is_told_so_and_runs_there(affinities: HostAffinities, sleeper: int) -> None:
    affinities.ask(sleeper, Affinity(1 << 60, 1 << 60))
    affinities.ask(sleeper, Affinity(1 << 7, 1 << 7))
    assert affinities.of(sleeper) == Affinity(1 << 7, 1 << 7)
    assert os.sched_getaffinity(sleeper) == {BELOW[7]}


def test_who_is_given_cpus_runs_there_only_while_affinities_follow(affinities: HostAffinities, sleeper: int) -> None:
    affinities.set(sleeper, Affinity(1 << 7))
    assert os.sched_getaffinity(sleeper) == set(REAL)
    affinities.follows = True
    affinities.set(sleeper, Affinity(1 << 7))
    assert os.sched_getaffinity(sleeper) == {BELOW[7]}
    affinities.let_go()
    assert os.sched_getaffinity(sleeper) == set(REAL)


def test_who_is_spared_stays_where_it_is(sleeper: int) -> None:
    affinities = HostAffinities(OnlineCpus(CPUS), BELOW, [sleeper])
    affinities.follows = True
    affinities.set(sleeper, Affinity(1 << 7))
    assert os.sched_getaffinity(sleeper) == set(REAL)


def test_a_real_affinity_that_nobody_was_told_of_stands_for_what_leads_to_it(sleeper: int) -> None:
    first = REAL[0]
    os.sched_setaffinity(sleeper, {first})
    assert HostAffinities(OnlineCpus(4), [first, first + 1] * 2).of(sleeper) == Affinity(0b0101, 0b0101)


@pytest.mark.skipif(len(REAL) < 2, reason="one CPU")
def test_who_runs_elsewhere_is_found(affinities: HostAffinities, sleeper: int) -> None:
    affinities.ask(sleeper, Affinity(1, 1))
    assert affinities.strays() == []
    os.sched_setaffinity(sleeper, {REAL[1]})
    ((tid, mask),) = affinities.strays()
    assert (tid, mask & 0b11) == (sleeper, 0b10)


def test_a_process_that_is_gone_is_no_error_but_for_who_asks(affinities: HostAffinities) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    affinities.ask(process.pid, Affinity(1, 1))
    assert (affinities.of(process.pid), affinities.tids()) == (Affinity(ALL), ())
    with pytest.raises(ProcessLookupError):
        affinities.find(process.pid)


@pytest.mark.parametrize("then", ["nothing", "parent asks again", "parent ends"])
def test_a_child_has_what_its_parent_had(affinities: HostAffinities, then: str) -> None:
    script = "read line; sleep 100 & echo $!; read line"
    with subprocess.Popen(["sh", "-c", script], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        affinities.ask(parent.pid, Affinity(1 << 60, 1 << 60))
        print(file=parent.stdin, flush=True)
        child = int(parent.stdout.readline())
        try:
            if then == "parent asks again":
                affinities.ask(parent.pid, Affinity(1 << 5, 1 << 5))
            elif then == "parent ends":
                affinities.hand_down(parent.pid)
                parent.kill()
                parent.wait()
            assert affinities.of(child) == Affinity(1 << 60, 1 << 60)
        finally:
            os.kill(child, 9)
            parent.kill()


def test_programs_run_on_no_more_cpus_than_the_stated_machine_has() -> None:
    assert (real_cpus(1, pinned=True), real_cpus(1, pinned=False)) == (REAL[:1], REAL)


def test_who_has_ended_is_forgotten(affinities: HostAffinities, sleeper: int) -> None:
    affinities.set(sleeper, Affinity(1 << 7))
    os.kill(sleeper, signal.SIGKILL)
    os.waitpid(sleeper, 0)
    assert (affinities.is_told(sleeper), affinities.of(sleeper), affinities.tids()) == (False, Affinity(ALL), ())


def test_who_runs_elsewhere_counts_only_while_affinities_follow(affinities: HostAffinities, sleeper: int) -> None:
    least = 1 << BELOW.index(REAL[0])
    assert affinities.runs_within(sleeper, least)
    affinities.follows = True
    assert affinities.runs_within(sleeper, least) == (len(REAL) == 1)
    affinities.ask(sleeper, Affinity(least))
    assert affinities.runs_within(sleeper, least)
