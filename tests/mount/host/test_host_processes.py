"""Processes as /proc shows them, and the watch for their exit."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.host.tasks import PF_NO_SETAFFINITY

Sleeper = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def processes() -> HostProcesses:
    return HostProcesses(IdMap(0, 0))


def test_this_process_is_found(processes: HostProcesses) -> None:
    found = processes.find(os.getpid())
    assert found is not None
    assert (found.tid, found.tgid, found.uid, found.suid) == (os.getpid(), os.getpid(), os.getuid(), os.getuid())
    assert (found.zombie, found.movable) == (False, True)


def test_a_thread_belongs_to_its_process(processes: HostProcesses) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert thread.native_id is not None
        found = processes.find(thread.native_id)
        assert found is not None
        assert found.tgid == os.getpid()
        assert thread.native_id in processes.threads(os.getpid())
    finally:
        stop.set()
        thread.join()


def test_a_pid_that_nobody_has_is_not_found(processes: HostProcesses) -> None:
    nobody = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    assert (processes.find(nobody), processes.threads(nobody)) == (None, [])


def test_a_zombie_is_found_and_has_no_live_thread(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    found = processes.find(process.pid)
    assert found is not None
    assert (found.zombie, processes.threads(process.pid), process.pid in processes.all()) == (True, [], False)


def test_all_lists_processes_and_not_threads(processes: HostProcesses) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        listed = processes.all()
        assert (os.getpid() in listed, thread.native_id in listed) == (True, False)
    finally:
        stop.set()
        thread.join()


def test_a_kernel_thread_bound_to_a_cpu_is_not_movable(processes: HostProcesses) -> None:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == "2":  # its parent is kthreadd
            found = processes.find(int(stat.parent.name))
            if found is not None:
                assert found.movable == (not int(fields[6]) & PF_NO_SETAFFINITY)


def test_a_mounter_who_plays_root_has_processes_of_roots(sleeper: Sleeper) -> None:
    found = HostProcesses(IdMap(os.getuid() or 1, 1)).find(sleeper().pid)
    assert found is not None
    assert found.uid == 0


def test_an_exit_is_reported_once_it_has_happened(processes: HostProcesses, sleeper: Sleeper) -> None:
    kernel = Kernel(processes=processes)
    kernel.mkdir("/a")
    process = sleeper()
    kernel.write("/a/cgroup.procs", str(process.pid))
    quiet = processes.exits.poll(0)
    process.kill()
    woken = processes.exits.poll(5)
    processes.report(kernel)
    process.wait()
    assert (quiet, len(woken), kernel.read("/a/cgroup.procs")) == ([], 1, "")


def test_a_process_that_is_gone_is_watched_no_more(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    processes.watch(process.pid)
    pidfd = processes.watched[process.pid]
    process.kill()
    process.wait()
    assert processes.exits.poll(5)
    processes.report(Kernel())
    assert processes.watched == {}
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(pidfd)


def test_a_zombie_does_not_keep_the_watch_busy(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    processes.watch(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    processes.report(Kernel())
    assert (processes.exits.poll(0.05), processes.dead) == ([], {process.pid})


def test_a_zombie_is_watched_until_it_is_reaped(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    processes.watch(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    processes.report(Kernel())
    process.wait()
    processes.report(Kernel())
    assert (processes.dead, processes.watched) == (set(), {})


def test_a_watched_process_is_killed(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    processes.watch(process.pid)
    processes.kill(process.pid)
    assert process.wait(60) == -9


def test_to_kill_who_is_gone_is_no_error(processes: HostProcesses, sleeper: Sleeper) -> None:
    process = sleeper()
    process.kill()
    process.wait()
    processes.kill(process.pid)
