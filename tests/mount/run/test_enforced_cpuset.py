"""cpuset acts on real processes (`run --enforce cpuset`): where they run, told by the kernel itself."""

from __future__ import annotations

import os
import sys

import pytest

from .conftest import Sandboxed, said

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")

FIRST, SECOND = sorted(os.sched_getaffinity(0))[:2]
BEGIN = "set -e; cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control; mkdir a b\n"
WHERE = f"""'{sys.executable}' -c '
import ctypes
print(*sorted({{ctypes.CDLL(None).sched_getcpu() for _ in range(20000)}}))'
"""
THREADS = """
import ctypes, os, threading, time
getcpu = ctypes.CDLL(None).sched_getcpu
seen, ending = {}, False
def work(name):
    while not ending:
        seen.setdefault(name, set()).add(getcpu())
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
open("/sys/fs/cgroup/a/cgroup.procs", "w").write("0")
late = threading.Thread(target=work, args=("late",))
late.start()
def sees(cpu):
    global seen
    seen = {}
    time.sleep(0.3)
    return all(cpus == {cpu} for cpus in seen.values()) and len(seen) == 5
print(sees(%d))
open("/sys/fs/cgroup/a/cpuset.cpus", "w").write("%d")
print(sees(%d))
ending = True
"""
FORKS = """
import ctypes, os, signal, time
getcpu = ctypes.CDLL(None).sched_getcpu
open("/sys/fs/cgroup/a/cgroup.procs", "w").write("0")
for turn in range(40):
    cpu = (%d, %d)[turn %% 2]
    children = []
    for n in range(4):
        child = os.fork()
        if not child:
            while True: os.waitpid(os.fork() or os._exit(0), 0)
        children.append(child)
    open("/sys/fs/cgroup/a/cpuset.cpus", "w").write(str(cpu))
    pids = open("/sys/fs/cgroup/a/cgroup.procs").read().split()
    for child in children: os.kill(child, signal.SIGKILL)
    for child in children: os.waitpid(child, 0)
    child = os.fork()
    if not child:
        print(getcpu() == cpu, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
CLONES = """
import ctypes, os, struct, time
libc = ctypes.CDLL(None)
open("/sys/fs/cgroup/a/cgroup.procs", "w").write("0")
into = os.open("/sys/fs/cgroup/b", os.O_RDONLY)
arguments = struct.pack("11Q", 1 << 33, 0, 0, 0, 17, 0, 0, 0, 0, 0, into)
for turn in range(4):
    child = libc.syscall(435, arguments, len(arguments))
    if not child:
        end = time.monotonic() + 20
        while {libc.sched_getcpu() for n in range(2000)} != {%d} and time.monotonic() < end:
            pass
        print(libc.sched_getcpu(), sorted(os.sched_getaffinity(0)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def printed(sandboxed: Sandboxed, script: str, **options: str) -> list[str]:
    return said(sandboxed(script, **{"enforce": "cpuset", **options})).split()


def test_a_process_runs_on_the_cpus_of_its_cpuset(sandboxed: Sandboxed) -> None:
    script = (
        f"{BEGIN} echo {SECOND} >a/cpuset.cpus; echo $$ >a/cgroup.procs; {WHERE} echo {FIRST} >a/cpuset.cpus; {WHERE}"
    )
    assert printed(sandboxed, script) == [str(SECOND), str(FIRST)]


def test_without_enforcing_it_runs_anywhere_but_is_told_so(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} echo {SECOND} >a/cpuset.cpus; echo $$ >a/cgroup.procs; nproc; taskset -p $$ | sed 's/.*: //'"
    assert printed(sandboxed, script, enforce="none", cpus="8") == ["1", f"{1 << SECOND:x}"]


def test_it_runs_anywhere_again_when_it_leaves(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo {SECOND} >a/cpuset.cpus; echo $$ >a/cgroup.procs; echo $$ >cgroup.procs
        taskset -c {FIRST} {WHERE.strip()}; grep _allowed_list /proc/$$/status | head -1"""
    words = printed(sandboxed, script)
    assert (words[0], words[1]) == (str(FIRST), "Cpus_allowed_list:")


def test_threads_of_before_and_after_a_move_follow(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} echo {SECOND} >a/cpuset.cpus; '{sys.executable}' -c '{THREADS % (SECOND, FIRST, FIRST)}'"
    assert printed(sandboxed, script) == ["True", "True"]


def test_children_that_are_forked_during_a_change_follow(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} echo {SECOND} >a/cpuset.cpus; '{sys.executable}' -c '{FORKS % (FIRST, SECOND)}'"
    assert printed(sandboxed, script) == ["True"] * 40


@pytest.mark.parametrize(("kernel", "then"), [("6.1", f"{FIRST},{SECOND}"), ("6.12", str(SECOND))])
def test_what_was_asked_for_is_remembered_from_6_2_on(sandboxed: Sandboxed, kernel: str, then: str) -> None:
    both = f"{FIRST},{SECOND}"
    script = f"""{BEGIN} echo {both} >a/cpuset.cpus; echo $$ >a/cgroup.procs; taskset -cp {SECOND} $$ >&- 2>&-
        echo {FIRST} >a/cpuset.cpus; taskset -cp $$; echo {both} >a/cpuset.cpus; taskset -cp $$"""
    words = printed(sandboxed, script, kernel=kernel)
    assert [words[5], words[-1]] == [str(FIRST), then]


def test_cpus_beyond_the_cpuset_are_refused(sandboxed: Sandboxed) -> None:
    program = f"""
import os
open("/sys/fs/cgroup/a/cgroup.procs", "w").write("0")
os.sched_setaffinity(0, {{{FIRST}, {SECOND}}})
print(sorted(os.sched_getaffinity(0)))
try:
    os.sched_setaffinity(0, {{{FIRST}}})
except OSError as error:
    print(error.errno, sorted(os.sched_getaffinity(0)))
"""
    script = f"{BEGIN} echo {SECOND} >a/cpuset.cpus; '{sys.executable}' -c '{program}'"
    assert printed(sandboxed, script) == [f"[{SECOND}]", "22", f"[{SECOND}]"]


def test_cpus_that_the_machine_below_lacks_run_on_those_it_has(sandboxed: Sandboxed) -> None:
    count = len(os.sched_getaffinity(0))
    script = f"""{BEGIN} echo {10 * count + 1} >a/cpuset.cpus; echo $$ >a/cgroup.procs; {WHERE}
        taskset -cp $$ | sed 's/.*: //'; echo {10 * count} >a/cpuset.cpus; {WHERE}"""
    assert printed(sandboxed, script, cpus=str(16 * count)) == [str(SECOND), str(10 * count + 1), str(FIRST)]


def test_a_child_starts_in_a_cpuset_of_its_own(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo {FIRST} >a/cpuset.cpus; echo {SECOND} >b/cpuset.cpus; echo $$ >a/cgroup.procs
        (echo 0 >b/cgroup.procs; {WHERE.strip()}); {WHERE}"""
    assert printed(sandboxed, script) == [str(SECOND), str(FIRST)]


def test_a_child_that_is_cloned_into_a_cpuset_runs_there(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo {FIRST} >a/cpuset.cpus; echo {SECOND} >b/cpuset.cpus
        '{sys.executable}' -c '{CLONES % SECOND}'"""
    assert printed(sandboxed, script) == [str(SECOND), f"[{SECOND}]"] * 4


def test_a_cpu_that_goes_offline_is_not_run_on(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo {FIRST},{SECOND} >a/cpuset.cpus; echo $$ >a/cgroup.procs
        echo 0 >/sys/devices/system/cpu/cpu{SECOND}/online; {WHERE}"""
    assert printed(sandboxed, script, cpus=str(os.cpu_count())) == [str(FIRST)]
