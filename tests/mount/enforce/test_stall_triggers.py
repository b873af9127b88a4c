"""Who polls an open pressure file is woken by stalls of real processes."""

from __future__ import annotations

import os
from select import POLLPRI

import pytest

from fakecgroup import Kernel, ProcessTable
from fakecgroup.credentials.caller import ROOT, Caller
from fakecgroup.vfs.openfile import OpenFile
from fakecgroup_mount.enforce.stall_triggers import StallTriggers
from fakecgroup_mount.enforce.stalled import Stalled

from .test_stalled import Clock

MS = 1_000_000


class Stall:
    """A process in a/b that stalls for memory, and time that passes as the thread that enforces looks."""

    def __init__(self) -> None:
        self.clock = Clock()
        table = ProcessTable()
        self.kernel = Kernel(processes=table, clock=self.clock, kernel="6.12")
        for path in ("a", "a/b"):
            self.kernel.mkdir(path)
        self.tgid = table.add()
        self.kernel.write("a/b/cgroup.procs", str(self.tgid))
        self.triggers = StallTriggers(self.kernel)
        self.stalled = Stalled(self.kernel, "memory")
        self.woken: list[str] = []
        self.kernel.on_notify = lambda file: self.woken.append(file.cgroup.path)

    def watch(self, path: str, trigger: str, caller: Caller = ROOT) -> OpenFile:
        if caller is not ROOT:
            self.kernel.chmod(path, 0o666)
        opened = self.kernel.vfs.open(self.kernel.walk(path), os.O_RDWR, caller)
        opened.write(trigger.encode(), caller)
        return opened

    def go_on(self, ms: int) -> None:
        until = self.clock.now + ms * MS
        while self.clock.now < until:
            self.stalled.settle()
            left = self.triggers.look()
            self.clock.now += max(MS, min(20 * MS, round(left * 1000) * MS))


@pytest.fixture
def stall() -> Stall:
    return Stall()


@pytest.mark.parametrize("path", ["/a/b", "/a", "/"])
def test_a_stall_wakes_who_polls_there_and_above(stall: Stall, path: str) -> None:
    opened = stall.watch(f"{path}/memory.pressure", "some 150000 1000000")
    stall.go_on(500)
    assert not stall.woken
    stall.stalled.begin(stall.tgid)
    stall.go_on(600)
    assert stall.woken == [path]
    assert opened.poll() & POLLPRI


def test_nobody_is_woken_by_less_than_the_threshold(stall: Stall) -> None:
    opened = stall.watch("/a/memory.pressure", "full 500000 1000000")
    stall.stalled.begin(stall.tgid)
    stall.go_on(300)
    stall.stalled.end(stall.tgid)
    stall.go_on(3000)
    assert not stall.woken
    assert not opened.poll() & POLLPRI


def test_one_without_privileges_is_woken_when_averages_are_due(stall: Stall) -> None:
    opened = stall.watch("/a/memory.pressure", "some 150000 2000000", Caller(1000, 1000))
    stall.stalled.begin(stall.tgid)
    stall.go_on(1000)
    assert not stall.woken
    stall.go_on(2000)
    assert stall.woken == ["/a"]
    assert opened.poll() & POLLPRI


def test_a_closed_file_is_forgotten(stall: Stall) -> None:
    opened = stall.watch("/a/memory.pressure", "some 150000 1000000")
    assert not stall.triggers.none
    del opened
    stall.go_on(100)
    assert stall.triggers.none
