"""Pressure triggers on virtual time: a poller of an open file is woken."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from select import POLLPRI

import pytest

from fakecgroup import Kernel, Workload
from fakecgroup.credentials.caller import ROOT, Caller
from fakecgroup.vfs.openfile import OpenFile

_USER = Caller(1000, 1000)


def _kernel(phases: list[Mapping[str, object]], version: str = "6.12", delay: str = "0") -> Kernel:
    kernel = Kernel(kernel=version, cpus=2, clock=lambda: 0)
    kernel.write("/cgroup.subtree_control", "+cpu +memory")
    kernel.mkdir("/a")
    kernel.write("/a/cpu.max", "20000 100000")
    kernel.spawn("/a", Workload(phases, loop="forever", delay=delay))
    return kernel


def _open(kernel: Kernel, trigger: str, file: str = "cpu.pressure", caller: Caller = ROOT) -> OpenFile:
    if caller is not ROOT:
        kernel.chmod(f"/a/{file}", 0o666)
    opened = kernel.vfs.open(kernel.walk(f"/a/{file}"), os.O_RDWR, caller)
    opened.write(trigger.encode(), caller)
    return opened


def _events(kernel: Kernel, opened: OpenFile, seconds: float) -> list[int]:
    """ms after which polls tell of an event."""
    told = []
    for ms in range(1, round(seconds * 1000) + 1):
        kernel.advance(0.001)
        if opened.poll() & POLLPRI:
            told.append(ms)
    return told


@pytest.mark.parametrize("version", ["5.10", "6.12"])
def test_a_steady_stall_wakes_once_in_a_window(version: str) -> None:
    kernel = _kernel([{"for": "10s", "cpu": 1}], version)
    kernel.advance(1.5)
    told = _events(kernel, _open(kernel, "some 150000 1000000"), 5)
    assert 150 <= told[0] <= 320
    assert [later - before for before, later in pairwise(told)] == [1080] * (len(told) - 1)
    assert len(told) == 5


def test_who_waits_in_poll_is_notified() -> None:
    kernel = _kernel([{"for": "10s", "cpu": 1}])
    woken = []
    kernel.on_notify = lambda file: woken.append(file.row.name)
    opened = _open(kernel, "full 500000 2000000")
    kernel.advance(1.5)
    assert woken == ["cpu.pressure"]
    assert opened.poll() & POLLPRI
    assert not opened.poll() & POLLPRI


def test_a_short_stall_does_not_wake() -> None:
    kernel = _kernel([{"run": "30ms"}, {"sleep": "3s"}])
    assert _events(kernel, _open(kernel, "some 150000 1000000"), 7) == []


def test_an_unprivileged_trigger_is_looked_at_when_averages_are_due() -> None:
    """6.18: a task that begins after 3 s is told of 2.04 s later, then about every 2 s."""
    kernel = _kernel([{"for": "10s", "cpu": 1}], delay="3s")
    told = _events(kernel, _open(kernel, "some 300000 2000000", caller=_USER), 8)
    assert told == [5024, 7040]


def test_memory_has_triggers_too() -> None:
    kernel = _kernel([{"for": "60s", "memory": {"start": "50Mi", "grow": "10Mi/s"}}])
    kernel.write("/a/memory.high", "60M")
    told = _events(kernel, _open(kernel, "some 100000 1000000", "memory.pressure"), 4)
    assert told
    assert told[0] > 700


def test_a_closed_file_is_looked_at_no_more() -> None:
    kernel = _kernel([{"for": "10s", "cpu": 1}])
    woken = []
    kernel.on_notify = lambda file: woken.append(file.row.name)
    opened = _open(kernel, "some 150000 1000000")
    del opened
    kernel.advance(3)
    assert woken == []
