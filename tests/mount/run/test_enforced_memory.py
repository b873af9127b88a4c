"""memory.max acts on real processes (`run --enforce memory`)."""

from __future__ import annotations

import subprocess
import sys

from .conftest import Sandboxed

PYTHON = f"'{sys.executable}' -S -E -c"
BEGIN = """
set -e; cd /sys/fs/cgroup; echo +memory >cgroup.subtree_control; mkdir a; echo 64M >a/memory.max
into() { sh -c 'echo $$ >'$1'/cgroup.procs; shift; exec "$@"' sh "$@"; }
"""
GROW = f"{PYTHON} 'import time; x = bytearray(200 << 20); time.sleep(2)'"
EVENTS = "echo $(cat a/memory.events)"
WAIT = """
import time; x = bytearray({mib} << 20); print(end="ready", flush=True); time.sleep({seconds})
"""


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines of a script that has worked; the shell says on stderr who was killed."""
    assert (done.returncode, done.stderr.replace("Killed\n", "")) == (0, ""), done
    return done.stdout.splitlines()


def test_a_process_over_the_limit_is_killed_and_counted(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} into a {GROW} || echo status $?; {EVENTS}; cat a/memory.peak"
    assert told(sandboxed(script, enforce="memory")) == [
        "status 137",
        "low 0 high 0 max 35 oom 1 oom_kill 1 oom_group_kill 0",
        str(64 << 20),
    ]


def test_without_enforce_it_lives(sandboxed: Sandboxed) -> None:
    assert told(sandboxed(f"{BEGIN} into a {GROW}; echo lives")) == ["lives"]


def test_the_process_with_the_higher_score_is_killed_though_the_other_grows(sandboxed: Sandboxed) -> None:
    sleep = f"{PYTHON} '{WAIT.format(mib=40, seconds=60)}'"
    script = f"""{BEGIN} mkfifo /tmp/$$.ready
        into a sh -c 'echo 500 >/proc/self/oom_score_adj; exec "$@"' sh {sleep} >/tmp/$$.ready & scored=$!
        head -c 5 /tmp/$$.ready; rm /tmp/$$.ready; echo
        into a {PYTHON} '{WAIT.format(mib=40, seconds=0)}'; echo; wait $scored || echo $?; {EVENTS}"""
    assert told(sandboxed(script, enforce="memory")) == [
        "ready",
        "ready",
        "137",
        "low 0 high 0 max 18 oom 1 oom_kill 1 oom_group_kill 0",
    ]


def test_a_group_dies_together(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo 1 >a/memory.oom.group; into a sleep 60 & other=$!
        until [ "$(cat a/cgroup.procs)" ]; do sleep 0.01; done
        into a {GROW} || echo first $?; wait $other || echo other $?; {EVENTS}"""
    assert told(sandboxed(script, enforce="memory")) == [
        "first 137",
        "other 137",
        "low 0 high 0 max 35 oom 1 oom_kill 3 oom_group_kill 1",
    ]


def test_a_limit_lowered_below_the_usage_kills(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo max >a/memory.max; mkfifo /tmp/$$.ready
        into a {PYTHON} '{WAIT.format(mib=100, seconds=60)}' >/tmp/$$.ready & process=$!
        head -c 5 /tmp/$$.ready; rm /tmp/$$.ready; echo
        echo 50M >a/memory.max; wait $process || echo $?; {EVENTS}"""
    assert told(sandboxed(script, enforce="memory")) == [
        "ready",
        "137",
        "low 0 high 0 max 0 oom 1 oom_kill 1 oom_group_kill 0",
    ]


def test_what_a_process_had_before_it_came_kills_nobody(sandboxed: Sandboxed) -> None:
    program = (
        "import os; x = bytearray(100 << 20); "
        'open("a/cgroup.procs", "w").write(str(os.getpid())); y = bytearray(30 << 20); '
        "p = os.fork(); x[0] = 1; p and os.waitpid(p, 0)"
    )
    assert told(sandboxed(f"{BEGIN} {PYTHON} '{program}'; {EVENTS}", enforce="memory")) == [
        "low 0 high 0 max 0 oom 0 oom_kill 0 oom_group_kill 0"
    ]


def test_pages_that_forks_share_count_once(sandboxed: Sandboxed) -> None:
    program = (
        "import os, time; x = bytearray(40 << 20)\n"
        "for _ in range(4):\n  if not os.fork(): time.sleep(0.3); os._exit(0)\n"
        "for _ in range(4): os.wait()"
    )
    assert told(sandboxed(f"{BEGIN} into a {PYTHON} '{program}'; {EVENTS}", enforce="memory")) == [
        "low 0 high 0 max 0 oom 0 oom_kill 0 oom_group_kill 0"
    ]


def test_files_in_the_page_cache_kill_nobody(sandboxed: Sandboxed) -> None:
    program = (
        "import mmap, os, tempfile; f = tempfile.TemporaryFile(dir=os.environ.get('DISK', '/var/tmp')); "
        "f.truncate(100 << 20); m = mmap.mmap(f.fileno(), 0); n = sum(m[i] for i in range(0, 100 << 20, 4096))"
    ).replace("'", '"')
    assert told(sandboxed(f"{BEGIN} into a {PYTHON} '{program}'; {EVENTS}", enforce="memory")) == [
        "low 0 high 0 max 0 oom 0 oom_kill 0 oom_group_kill 0"
    ]


def test_v1_counts_in_its_own_files(sandboxed: Sandboxed) -> None:
    script = f"""set -e; cd /sys/fs/cgroup/memory; mkdir a; echo 64M >a/memory.limit_in_bytes
        into() {{ sh -c 'echo $$ >'$1'/cgroup.procs; shift; exec "$@"' sh "$@"; }}
        into a {GROW} || echo status $?
        cat a/memory.failcnt a/memory.max_usage_in_bytes; tail -1 a/memory.oom_control"""
    assert told(sandboxed(script, enforce="memory", layout="v1")) == [
        "status 137",
        "36",
        str(64 << 20),
        "oom_kill 1",
    ]


def test_over_memory_high_a_process_sleeps_and_lives(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo max >a/memory.max; echo 32M >a/memory.high
        sh -c 'echo $$ >a/cgroup.procs; exec "$@"' sh {PYTHON} '{WAIT.format(mib=200, seconds=0)}' & process=$!
        until [ $(cut -d' ' -f3 /proc/$process/stat) = T ]; do sleep 0.01; done; echo asleep
        echo max >a/memory.high; wait $process; echo; {EVENTS} | grep -c ' high 0 '"""
    done = sandboxed(f"{script} || true", enforce="memory")
    assert told(done) == ["asleep", "ready", "0"]


def test_without_the_oom_killer_a_process_waits_for_room(sandboxed: Sandboxed) -> None:
    script = f"""set -e; cd /sys/fs/cgroup/memory; mkdir a
        echo 64M >a/memory.limit_in_bytes; echo 1 >a/memory.oom_control
        sh -c 'echo $$ >a/cgroup.procs; exec "$@"' sh {PYTHON} '{WAIT.format(mib=200, seconds=0)}' & process=$!
        until grep -q 'under_oom 1' a/memory.oom_control; do sleep 0.01; done; cut -d' ' -f3 /proc/$process/stat
        echo 300M >a/memory.limit_in_bytes; wait $process; echo; tail -2 a/memory.oom_control"""
    assert told(sandboxed(script, enforce="memory", layout="v1")) == ["T", "ready", "under_oom 0", "oom_kill 0"]
