"""Processes of the machine in cgroups of the tree."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..waiting import wait_until
from .conftest import OTHER_UID, needs_root, shell

Sleeper = Callable[..., "subprocess.Popen[bytes]"]


def procs(group: Path) -> list[int]:
    return [int(line) for line in (group / "cgroup.procs").read_text().split()]


def test_a_written_process_is_listed(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    assert procs(group) == [process.pid]


def test_a_process_that_has_exited_is_listed_no_more(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert procs(group) == []


def test_a_cgroup_whose_process_has_exited_is_removed_at_once(group: Path, sleeper: Sleeper) -> None:
    for _ in range(20):
        (group / "a").mkdir()
        process = sleeper()
        (group / "a" / "cgroup.procs").write_text(str(process.pid))
        process.kill()
        process.wait()
        (group / "a").rmdir()


def test_a_cgroup_with_a_process_is_busy(group: Path, sleeper: Sleeper) -> None:
    (group / "a").mkdir()
    (group / "a" / "cgroup.procs").write_text(str(sleeper().pid))
    with pytest.raises(OSError, match="Device or resource busy"):
        (group / "a").rmdir()


def test_zero_is_the_writer(group: Path) -> None:
    assert shell("echo 0 > cgroup.procs; grep -qx $$ cgroup.procs && echo me", group) == (0, "me\n", "")


def test_zero_written_by_a_thread_moves_its_process(group: Path) -> None:
    script = (
        "import threading, os, sys\n"
        "t = threading.Thread(target=lambda: open('cgroup.procs', 'w').write('0'))\n"
        "t.start(); t.join()\n"
        "print(open('cgroup.procs').read().split() == [str(os.getpid())])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=group, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_process_that_is_not_there_is_refused(group: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with pytest.raises(ProcessLookupError):
        (group / "cgroup.procs").write_text(str(process.pid))


def test_a_process_is_in_one_cgroup_at_a_time(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    for name in ("a", "b"):
        (group / name).mkdir()
        (group / name / "cgroup.procs").write_text(str(process.pid))
    assert (procs(group / "a"), procs(group / "b")) == ([], [process.pid])


def test_the_root_lists_who_is_nowhere_else(v2: Path, group: Path, sleeper: Sleeper) -> None:
    here, there = sleeper(), sleeper()
    (group / "cgroup.procs").write_text(str(here.pid))
    listed = procs(v2)
    assert (here.pid in listed, there.pid in listed) == (False, True)


def test_populated_follows_the_life_of_a_process(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    before = (group / "cgroup.events").read_text().split()[:2]
    process.kill()
    process.wait()
    assert (before, (group / "cgroup.events").read_text().split()[:2]) == (["populated", "1"], ["populated", "0"])


@pytest.fixture
def threaded() -> Iterator[subprocess.Popen[bytes]]:
    """A process with four threads, which sleep."""
    script = (
        "import threading, time, sys\n"
        "for _ in range(3): threading.Thread(target=time.sleep, args=(300,), daemon=True).start()\n"
        "print('up', flush=True); time.sleep(300)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_process_moves_with_its_threads(group: Path, threaded: subprocess.Popen[bytes]) -> None:
    (group / "cgroup.procs").write_text(str(threaded.pid))
    tids = {int(name) for name in os.listdir(f"/proc/{threaded.pid}/task")}
    assert {int(line) for line in (group / "cgroup.threads").read_text().split()} == tids


def a_thread_leaves(group: Path, file: str) -> str:
    """A process comes to a cgroup, starts a thread, and this moves to the child b alone; then the process leaves."""
    script = (
        "import os, sys, threading\n"
        "os.chdir(sys.argv[1]); name = sys.argv[2]\n"
        "open('cgroup.procs', 'w').write('0')\n"
        "def move():\n"
        "    open('b/' + name, 'w').write('0')\n"
        "    print(open('b/' + name).read() == f'{threading.get_native_id()}\\n')\n"
        "t = threading.Thread(target=move); t.start(); t.join()\n"
        "print(open(name).read() == f'{os.getpid()}\\n')\n"
        "open('../cgroup.procs', 'w').write('0')\n"
    )
    command = [sys.executable, "-c", script, str(group), file]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_thread_that_was_started_in_a_cgroup_leaves_it_alone(group: Path) -> None:
    (group / "b").mkdir()
    (group / "b" / "cgroup.type").write_text("threaded")
    assert a_thread_leaves(group, "cgroup.threads") == "True\n" * 2


def test_a_thread_that_was_started_in_a_cgroup_of_v1_leaves_it_alone(cpu_group: Path) -> None:
    (cpu_group / "b").mkdir()
    assert a_thread_leaves(cpu_group, "tasks") == "True\n" * 2


def test_a_process_with_threads_leaves_as_a_whole(group: Path, threaded: subprocess.Popen[bytes]) -> None:
    (group / "cgroup.procs").write_text(str(threaded.pid))
    threaded.kill()
    threaded.wait()
    wait_until(lambda: "populated 0" in (group / "cgroup.events").read_text())


@pytest.mark.parametrize("program", ["cat", "busybox cat", "dd bs=100 status=none", "dd bs=1M status=none <"])
def test_a_long_list_is_read_to_its_end(group: Path, program: str) -> None:
    if shutil.which(program.split()[0]) is None:
        pytest.skip(f"no {program}")
    script = (
        "import threading, time\n"
        "threading.stack_size(65536)\n"
        "for _ in range(1000): threading.Thread(target=time.sleep, args=(300,), daemon=True).start()\n"
        "print('up', flush=True); time.sleep(300)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            (group / "cgroup.procs").write_text(str(process.pid))
            operand = "if=cgroup.threads" if program.startswith("dd bs=100") else "cgroup.threads"
            _, said, complaint = shell(f"{program} {operand}", group)
            tids = sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
            assert (sorted(map(int, said.split())), complaint) == (tids, "")
        finally:
            process.kill()


def test_pids_current_counts_threads_until_the_process_is_reaped(
    group: Path, threaded: subprocess.Popen[bytes]
) -> None:
    (group / "cgroup.procs").write_text(str(threaded.pid))
    counted = [(group / "pids.current").read_text()]
    threaded.kill()
    os.waitid(os.P_PID, threaded.pid, os.WEXITED | os.WNOWAIT)
    counted.append((group / "pids.current").read_text())
    threaded.wait()
    counted.append((group / "pids.current").read_text())
    assert counted == ["4\n", "1\n", "0\n"]


def test_v1_lists_threads_in_tasks(cpu_group: Path) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        (cpu_group / "tasks").write_text(str(thread.native_id))
        assert (cpu_group / "tasks").read_text() == f"{thread.native_id}\n"
    finally:
        stop.set()
        thread.join()
        wait_until(lambda: (cpu_group / "tasks").read_text() == "")  # join returns a little before it is gone


def test_v1_forgets_a_thread_that_has_ended(cpu_group: Path) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    (cpu_group / "tasks").write_text(str(thread.native_id))
    stop.set()
    thread.join()
    wait_until(lambda: (cpu_group / "tasks").read_text() == "")


def test_kthreadd_stays_in_the_root(group: Path) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        (group / "cgroup.procs").write_text("2")


@needs_root
def test_another_user_moves_no_process_into_a_cgroup_of_roots(group: Path, sleeper: Sleeper) -> None:
    process = sleeper(user=OTHER_UID)
    status, _, said = shell(f"echo {process.pid} > cgroup.procs", group, OTHER_UID)
    assert status != 0
    assert "Permission denied" in said


def test_cgroup_kill_ends_the_processes(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    (group / "cgroup.kill").write_text("1")
    assert process.wait(60) == -9


# -- poll ---------------------------------------------------------------------------------------------

EVENT = select.POLLERR | select.POLLPRI


def test_a_poll_of_an_unread_file_is_an_event(group: Path) -> None:
    with (group / "cgroup.events").open("rb", buffering=0) as file:
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        assert poller.poll(0) == [(file.fileno(), EVENT)]


def test_a_poll_is_woken_when_the_last_process_leaves(group: Path, sleeper: Sleeper) -> None:
    process = sleeper()
    (group / "cgroup.procs").write_text(str(process.pid))
    with (group / "cgroup.events").open("rb", buffering=0) as file:
        file.read()
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        quiet = poller.poll(50)
        threading.Timer(0.1, process.kill).start()
        woken = poller.poll(2000)
        assert (quiet, woken) == ([], [(file.fileno(), EVENT)])


def test_a_poll_is_woken_when_a_process_with_threads_leaves(group: Path, threaded: subprocess.Popen[bytes]) -> None:
    (group / "cgroup.procs").write_text(str(threaded.pid))
    with (group / "cgroup.events").open("rb", buffering=0) as file:
        file.read()
        poller = select.poll()
        poller.register(file, select.POLLPRI)
        threading.Timer(0.1, threaded.kill).start()
        assert poller.poll(2000) == [(file.fileno(), EVENT)]


def test_epoll_tells_each_change_once(group: Path, sleeper: Sleeper) -> None:
    with (group / "cgroup.events").open("rb", buffering=0) as file, select.epoll() as epoll:
        file.read()
        epoll.register(file, select.EPOLLPRI | select.EPOLLET)
        epoll.poll(0)
        for _ in range(3):
            process = sleeper()
            (group / "cgroup.procs").write_text(str(process.pid))
            assert len(epoll.poll(2)) == 1
            os.pread(file.fileno(), 100, 0)
            process.kill()
            process.wait()
            assert len(epoll.poll(2)) == 1
            os.pread(file.fileno(), 100, 0)
        assert epoll.poll(0) == []
