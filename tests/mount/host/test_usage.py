"""The files of a cgroup count what its real processes use."""

from __future__ import annotations

import os
import resource
import select
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from fakecgroup_mount.host import exit_events, fork_events

from ...waiting import wait_until

FAMILY = Path(__file__).parents[1] / "family.py"
MIB = 1 << 20
BUSY = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"
JOIN = "import time\nopen('cgroup.procs', 'w').write('0')\nstart = time.process_time()\n"


class Program:
    """A Python program that runs in a cgroup's directory; it is ended with the test."""

    def __init__(self, script: str, cwd: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", script], cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def told(self, word: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.says()

    def end(self) -> None:
        """Its children may still have its output open."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


Start = Callable[[str, Path], Program]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Program] = []

    def start(script: str, cwd: Path) -> Program:
        started.append(Program(script, cwd))
        return started[-1]

    yield start
    for program in started:
        program.end()


def cpu(group: Path) -> float:
    """Seconds."""
    usage, user, system = (int(line.split()[1]) for line in (group / "cpu.stat").read_text().splitlines()[:3])
    assert 0 <= usage - user - system <= 1
    return usage / 1e6


def waited_for() -> float:
    """Seconds of CPU that this process's reaped children have used."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def number(group: Path, file: str) -> int:
    return int((group / file).read_text())


def stat(group: Path) -> dict[str, int]:
    return {name: int(value) for name, value in map(str.split, (group / "memory.stat").read_text().splitlines())}


@pytest.fixture
def memory_group(v1: Path, cpu_group: Path) -> Iterator[Path]:
    directory = v1 / "memory" / cpu_group.name
    directory.mkdir()
    yield directory
    directory.rmdir()


def test_the_time_of_a_child_that_was_waited_for_at_once_is_counted(group: Path, start: Start) -> None:
    (group / "a").mkdir()
    program = start(JOIN + BUSY.format(0.4) + "print(time.process_time() - start)", group / "a")
    used = float(program.says())
    program.process.wait()
    assert (used - 0.03 < cpu(group / "a") < used + 0.1, cpu(group) >= cpu(group / "a")) == (True, True)
    (group / "a").rmdir()
    assert used - 0.03 < cpu(group) < used + 0.1


def test_the_time_of_many_short_children_is_counted_once(group: Path) -> None:
    before = waited_for()
    script = f"echo 0 > cgroup.procs; for i in 1 2 3 4 5 6; do '{sys.executable}' -S -c '{BUSY.format(0.08)}'; done"
    subprocess.run(["sh", "-c", script], cwd=group, check=True)
    used = waited_for() - before
    assert used * 0.9 < cpu(group) < used + 0.05


def test_time_stays_where_it_was_used(group: Path, start: Start) -> None:
    for name in ("a", "b"):
        (group / name).mkdir()
    program = start(
        JOIN + BUSY.format(0.3) + "print(1, flush=True); input()\n" + BUSY.format(0.2) + "input()", group / "a"
    )
    program.says()
    (group / "b" / "cgroup.procs").write_text(str(program.pid))
    assert program.process.stdin is not None
    program.process.stdin.write("go\n")
    program.process.stdin.flush()
    wait_until(lambda: cpu(group / "a") + cpu(group / "b") > 0.45)
    assert 0.29 < cpu(group / "a") < 0.4


def test_counters_never_go_back(group: Path) -> None:
    script = f"for i in 1 2 3 4 5 6 7 8 9; do '{sys.executable}' -S -c '{BUSY.format(0.02)}' & done; wait"
    last = [0, 0, 0]
    with subprocess.Popen(["sh", "-c", "echo 0 >cgroup.procs;" + script], cwd=group) as process:
        while process.poll() is None:
            read = [int(line.split()[1]) for line in (group / "cpu.stat").read_text().splitlines()[:3]]
            assert all(new >= old for new, old in zip(read, last, strict=True))
            last = read


def test_v1_counts_and_is_reset(cpu_group: Path, start: Start) -> None:
    program = start(JOIN + BUSY.format(0.3) + "print(1, flush=True); input()", cpu_group)
    program.says()
    used = number(cpu_group, "cpuacct.usage")
    by_cpu = sum(map(int, (cpu_group / "cpuacct.usage_percpu").read_text().split()))
    (cpu_group / "cpuacct.usage").write_text("0")
    assert (0.28e9 < used < 0.4e9, 0 <= by_cpu - used < 1e7, number(cpu_group, "cpuacct.usage") < 1e7) == (True,) * 3


def test_the_roots_show_the_machine(v2: Path, v1: Path) -> None:
    assert cpu(v2) > time.process_time()
    assert number(v1 / "cpu,cpuacct", "cpuacct.usage") > time.process_time_ns()
    assert number(v1 / "memory", "memory.usage_in_bytes") > 10 * MIB


def test_memory_that_is_touched_is_charged(group: Path, start: Start) -> None:
    script = JOIN + f"print(1, flush=True); input()\nx = bytearray({64 * MIB}); print(2, flush=True); input()"
    program = start(script + "\ndel x; print(3, flush=True); input()", group)
    program.says()
    before = number(group, "memory.current")
    program.told("touch")
    touched, anon = number(group, "memory.current"), stat(group)["anon"]
    program.told("free")
    freed = number(group, "memory.current")
    assert before < 8 * MIB
    assert abs(touched - before - 64 * MIB) < MIB
    assert abs(anon - 64 * MIB) < 8 * MIB
    assert freed - before < MIB
    assert number(group, "memory.peak") >= touched
    program.end()
    wait_until(lambda: number(group, "memory.current") == 0)


def test_what_is_shared_after_a_fork_is_charged_once(group: Path, start: Start) -> None:
    script = JOIN + f"import os\nx = bytearray({32 * MIB})\nfor _ in range(3):\n  if not os.fork(): os.read(0, 1)\n"
    start(script + "print(1, flush=True); os.read(0, 1)", group).says()
    assert 32 * MIB < number(group, "memory.current") < 44 * MIB
    (group / "cgroup.kill").write_text("1")
    wait_until(lambda: "populated 0" in (group / "cgroup.events").read_text())


def test_v1_memory_is_charged_and_a_lower_limit_is_busy(memory_group: Path, start: Start) -> None:
    program = start(JOIN + f"x = bytearray({32 * MIB}); print(1, flush=True); input()", memory_group)
    program.says()
    used, rss = number(memory_group, "memory.usage_in_bytes"), stat(memory_group)["total_rss"]
    assert 32 * MIB < rss <= used < 40 * MIB
    with pytest.raises(OSError, match="busy"):
        (memory_group / "memory.limit_in_bytes").write_text("16M")
    program.end()
    wait_until(lambda: number(memory_group, "memory.usage_in_bytes") == 0)
    assert number(memory_group, "memory.max_usage_in_bytes") >= used


def test_a_v1_threshold_is_crossed_by_a_process(memory_group: Path, start: Start) -> None:
    event = os.eventfd(0, os.EFD_NONBLOCK)
    try:
        with (memory_group / "memory.usage_in_bytes").open() as usage:
            (memory_group / "cgroup.event_control").write_text(f"{event} {usage.fileno()} 24M")
        program = start(
            JOIN + f"print(1, flush=True); input(); x = bytearray({32 * MIB}); print(2, flush=True); input()",
            memory_group,
        )
        program.says()
        quiet = select.select([event], [], [], 0.2)[0]
        program.told("touch")
        woken = select.select([event], [], [], 2)[0]
        assert (quiet, woken, os.eventfd_read(event)) == ([], [event], 1)
        program.end()
        assert select.select([event], [], [], 2)[0] == [event]
    finally:
        os.close(event)


# -- the short-lived ----------------------------------------------------------------------------------

KINDS = ("forks", "orphans", "threads", "execs", "kills")


@pytest.fixture
def told_of_ends(root: None) -> None:
    listening = exit_events.listen()
    if listening is None or (forks := fork_events.listen()) is None:
        pytest.skip("the kernel tells us of no forks and ends")
    listening.close()
    forks.close()


@pytest.fixture
def kernel_group(root: None) -> Iterator[Path]:
    """A cgroup of this machine's own cpuacct hierarchy."""
    directory = Path("/sys/fs/cgroup/cpuacct") / f"fcg-test-{uuid.uuid4().hex[:12]}"
    try:
        directory.mkdir()
    except OSError as error:
        pytest.skip(f"no cpuacct hierarchy: {error}")
    yield directory
    directory.rmdir()


def family(counter: str, group: Path, seed: int, beside: Path | str = "") -> tuple[int, int]:
    """The use of a family's processes and the file's value, in ms. Waits until they agree, or too long."""
    command = [sys.executable, "-S", "-E", str(FAMILY), counter, str(group), "join", str(seed), *KINDS]
    said = subprocess.run(command, env={"BESIDE": str(beside)}, check=True, capture_output=True, text=True).stdout
    used, counted = map(int, said.split())
    return used, counted


def test_all_that_the_short_lived_use_is_counted_as_a_kernel_counts_it(
    told_of_ends: None, native_group: Path, kernel_group: Path
) -> None:
    families = [family("cpu.stat", native_group, seed, kernel_group) for seed in range(4)]
    assert [abs(counted - used) <= max(10, used / 50) for used, counted in families] == [True] * 4, families


def test_the_short_lived_in_a_v1_cgroup_are_counted(told_of_ends: None, cpu_group: Path) -> None:
    used, counted = family("cpuacct.usage", cpu_group, 5)
    assert used == pytest.approx(counted, abs=max(10, used / 50))


@pytest.mark.parametrize("runs", ["exec {}", "{}; true"], ids=["known", "unseen"])
def test_the_memory_of_a_short_lived_process_is_in_the_peak(told_of_ends: None, group: Path, runs: str) -> None:
    program = f"'{sys.executable}' -S -c 'b\"x\" * (50 << 20)'"
    subprocess.run(["sh", "-c", f"echo 0 >cgroup.procs; {runs.format(program)}"], cwd=group, check=True)
    wait_until(lambda: number(group, "memory.peak") > 50 * MIB)


# -- tasks --------------------------------------------------------------------------------------------

THREADS = """
import threading, sys
stop = threading.Event()
for line in sys.stdin:
    if line == "thread\\n": threading.Thread(target=stop.wait, daemon=True).start()
    if line == "end\\n": stop.set(); [thread.join() for thread in threading.enumerate()[1:]]
    print(1, flush=True)
"""


def test_a_thread_made_after_the_last_look_is_there(group: Path, start: Start) -> None:
    (group / "a").mkdir()
    (group / "cgroup.subtree_control").write_text("+pids")
    program = start("print(0, flush=True)" + THREADS, group)
    program.says()
    (group / "a" / "cgroup.procs").write_text(str(program.pid))
    counts = []
    for word in ("none", "thread", "thread"):
        program.told(word)
        listed = len((group / "a" / "cgroup.threads").read_text().split())
        counts.append((listed, number(group / "a", "pids.current"), number(group, "pids.current")))
    program.told("end")
    assert counts == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]
    wait_until(lambda: (number(group, "pids.current"), number(group / "a", "pids.current")) == (1, 1))


def test_the_pids_of_a_parent_count_threads_that_nobody_looked_at(group: Path, start: Start) -> None:
    (group / "a").mkdir()
    (group / "cgroup.subtree_control").write_text("+pids")
    program = start("print(0, flush=True)" + THREADS, group)
    program.says()
    (group / "a" / "cgroup.procs").write_text(str(program.pid))
    program.told("thread")
    assert number(group, "pids.current") == 2


def test_v1_tasks_has_a_new_thread(cpu_group: Path, start: Start) -> None:
    program = start("print(0, flush=True)" + THREADS, cpu_group)
    program.says()
    (cpu_group / "cgroup.procs").write_text(str(program.pid))
    program.told("thread")
    assert len((cpu_group / "tasks").read_text().split()) == 2
    program.end()
    wait_until(lambda: (cpu_group / "tasks").read_text() == "")


# -- storms -------------------------------------------------------------------------------------------

STORM = """
import os, threading, time
def work():
    while True:
        if not os.fork():
            if os.fork(): os._exit(0)
            threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
            time.sleep(0.05)
            os._exit(0)
        os.wait()
        time.sleep(0.01)
for _ in range(2):
    if not os.fork(): work()
threading.Thread(target=work, daemon=True).start()
work()
"""


@pytest.fixture
def storm(group: Path, start: Start) -> Iterator[Path]:
    """A cgroup in which processes with threads fork and exit all the time, some tens at once."""
    directory = group / "storm"
    directory.mkdir()
    (group / "cgroup.subtree_control").write_text("+pids")
    start(JOIN + STORM, directory)
    try:
        wait_until(lambda: number(directory, "pids.current") > 8)
        yield directory
    finally:
        (directory / "cgroup.kill").write_text("1")
        (directory / "cgroup.freeze").write_text("0")
        wait_until(lambda: "populated 0" in (directory / "cgroup.events").read_text())


def test_a_kill_kills_all_that_forks(storm: Path) -> None:
    (storm / "cgroup.kill").write_text("1")
    wait_until(lambda: "populated 0" in (storm / "cgroup.events").read_text())
    time.sleep(0.05)
    assert (storm / "cgroup.procs").read_text() == ""


def are_stopped(pids: list[str]) -> bool:
    return {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids} <= {"T", "Z"}


def procs(group: Path) -> list[str]:
    return (group / "cgroup.procs").read_text().split()


def test_a_freeze_stops_all_that_forks(storm: Path) -> None:
    for _ in range(3):
        (storm / "cgroup.freeze").write_text("1")
        before = procs(storm)
        wait_until(partial(are_stopped, before))
        assert procs(storm) == before  # nobody was still forking
        (storm / "cgroup.freeze").write_text("0")
        wait_until(lambda: procs(storm) != before)  # noqa: B023


VFORK = """
import ctypes, mmap, os, signal
open("cgroup.procs", "w").write("0")
memory = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for _ in range(64): memory.write(bytes(1 << 20))
libc, CLONE_VM, SIZE = ctypes.CDLL(None), 0x100, 1 << 16
stack = ctypes.create_string_buffer(SIZE)
top = (ctypes.addressof(stack) + SIZE) & ~15
child = libc.clone(libc.pause, ctypes.c_void_p(top), CLONE_VM | signal.SIGCHLD, None)
print(child, flush=True)
input()
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print("ended", flush=True)
input()
"""


def test_memory_that_a_child_has_together_with_its_parent_is_counted_once(memory_group: Path, start: Start) -> None:
    program = start(VFORK, memory_group)
    child = program.says()
    wait_until(lambda: child in (memory_group / "cgroup.procs").read_text().split())
    assert 64 * MIB <= stat(memory_group)["rss"] < 100 * MIB
    program.told("go")
    assert 64 * MIB <= stat(memory_group)["rss"] < 100 * MIB
    assert number(memory_group, "memory.max_usage_in_bytes") < 110 * MIB
    program.end()
    wait_until(lambda: not (memory_group / "cgroup.procs").read_text())


LOCK = """
import ctypes, mmap
open("cgroup.procs", "w").write("0")
memory = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.write(bytes(1) * (4 << 20))
address = ctypes.addressof((ctypes.c_char * (4 << 20)).from_buffer(memory))
libc = ctypes.CDLL(None)
print(libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(1 << 20)), flush=True)
input()
libc.munlock(ctypes.c_void_p(address), ctypes.c_size_t(1 << 20))
print("unlocked", flush=True)
input()
"""


def test_locked_memory_and_page_faults_are_in_memory_stat(memory_group: Path, start: Start) -> None:
    program = start(LOCK, memory_group)
    if program.says() != "0":
        pytest.skip("nobody may lock 1 MiB here")
    wait_until(lambda: stat(memory_group)["unevictable"] == MIB)
    assert stat(memory_group)["pgfault"] >= 4 * MIB // resource.getpagesize()
    program.told("go")
    wait_until(lambda: stat(memory_group)["unevictable"] == 0)
    before = stat(memory_group)["pgfault"]
    program.end()
    wait_until(lambda: not (memory_group / "cgroup.procs").read_text())
    assert stat(memory_group)["pgfault"] >= before
