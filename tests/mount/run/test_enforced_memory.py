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

BEGINS_A_HUGE_PAGE = """
import mmap, re, time
huge, limit = 2 << 20, 32 << 20
memory = mmap.mmap(-1, limit + huge, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_HUGEPAGE)
def has(): return int(re.search(r"Anonymous: +(\\d+)", open("/proc/self/smaps_rollup").read())[1]) << 10
at = 0
while has() < limit:
    memory[at] = 1
    at += huge
until = time.process_time() + 0.3
while time.process_time() < until: pass
print("lives")
"""

# One that sleeps is held only once it runs again, and before it is looked at it may have touched all.
RUN_ON = """
import time; x = bytearray(200 << 20); print(end="ready", flush=True)
while time.process_time() < 60: pass
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


def test_a_huge_page_that_is_only_begun_kills_nobody(sandboxed: Sandboxed) -> None:
    """A kernel gives small pages where a huge one would be over the limit."""
    script = f"""{BEGIN} echo 32M >a/memory.max; into a {PYTHON} '{BEGINS_A_HUGE_PAGE}'; {EVENTS}"""
    assert told(sandboxed(script, enforce="memory")) == [
        "lives",
        "low 0 high 0 max 0 oom 0 oom_kill 0 oom_group_kill 0",
    ]


def test_without_enforce_it_lives(sandboxed: Sandboxed) -> None:
    assert told(sandboxed(f"{BEGIN} into a {GROW}; echo lives")) == ["lives"]


def test_the_process_with_the_higher_score_is_killed_though_the_other_grows(sandboxed: Sandboxed) -> None:
    sleep = f"{PYTHON} '{WAIT.format(mib=40, seconds=60)}'"
    script = f"""{BEGIN} mkfifo /tmp/$$.ready
        into a sh -c 'echo 500 >/proc/self/oom_score_adj; exec "$@"' sh {sleep} >/tmp/$$.ready & scored=$!
        head -c 5 /tmp/$$.ready; rm /tmp/$$.ready; echo
        into a {sleep} >/dev/null & other=$!
        wait $scored || echo $?; {EVENTS}; kill -9 $other; wait $other || echo $?"""
    assert told(sandboxed(script, enforce="memory")) == [
        "ready",
        "137",
        "low 0 high 0 max 18 oom 1 oom_kill 1 oom_group_kill 0",
        "137",
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


def test_a_limit_that_was_lowered_holds_when_the_write_returns(sandboxed: Sandboxed) -> None:
    """A kernel kills one after the other meanwhile (memory_max_write)."""
    script = f"""{BEGIN} echo max >a/memory.max; mkfifo /tmp/$$.ready; exec 9<>/tmp/$$.ready; rm /tmp/$$.ready
        for number in 1 2 3 4 5 6 7 8; do into a {PYTHON} '{WAIT.format(mib=20, seconds=60)}' >&9 & done
        head -c 40 <&9; echo
        echo 70M >a/memory.max; [ $(cat a/memory.current) -le $((70 << 20)) ] && echo fits || cat a/memory.current
        grep oom_kill a/memory.events
        kill -9 $(cat a/cgroup.procs); wait"""
    said = told(sandboxed(script, enforce="memory"))
    assert said == ["ready" * 8, "fits", "oom_kill 5"]


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
    script = f"""{BEGIN} echo max >a/memory.max; echo 32M >a/memory.high; mkfifo /tmp/$$.ready
        sh -c 'echo $$ >a/cgroup.procs; exec "$@"' sh {PYTHON} '{RUN_ON}' >/tmp/$$.ready &
        process=$!; exec 9</tmp/$$.ready
        until [ $(cut -d' ' -f3 /proc/$process/stat) = t ]; do sleep 0.01; done; echo asleep
        echo max >a/memory.high; head -c 5 <&9; echo; rm /tmp/$$.ready; kill -9 $process
        grep -c 'high [1-9]' a/memory.events; grep oom_kill a/memory.events"""
    assert told(sandboxed(script, enforce="memory")) == ["asleep", "ready", "1", "oom_kill 0"]


WAITS_FOR_STOPS = """
import os, signal, time
child = os.fork()
if not child:
    open("a/cgroup.procs", "w").write("0")
    x = bytearray(200 << 20)
    while time.process_time() < 60: pass
state = lambda: open(f"/proc/{child}/stat").read().rpartition(")")[2].split()[0]
until = time.monotonic() + 60
while state() != "t" and time.monotonic() < until: time.sleep(0.001)
time.sleep(0.1)
print(os.waitpid(child, os.WUNTRACED | os.WNOHANG))
os.kill(child, signal.SIGSTOP)
time.sleep(0.1)
print(os.waitpid(child, os.WUNTRACED | os.WNOHANG))
open("a/memory.high", "w").write("max")
print(os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]))
os.kill(child, signal.SIGKILL)
print(os.WIFSIGNALED(os.waitpid(child, 0)[1]))
"""


def test_a_parent_sees_no_stop_of_a_process_that_sleeps_for_memory_high(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} echo max >a/memory.max; echo 1M >a/memory.high; {PYTHON} '{WAITS_FOR_STOPS}'"
    assert told(sandboxed(script, enforce="memory")) == ["(0, 0)", "(0, 0)", "True", "True"]


# Until nothing has moved for a while, and so nothing is looked at.
WAITS_FOR_ROOM = f"""set -e; cd /sys/fs/cgroup/memory; mkdir a; mkfifo /tmp/$$.ready
    echo 64M >a/memory.limit_in_bytes; echo 1 >a/memory.oom_control
    sh -c 'echo $$ >a/cgroup.procs; exec "$@"' sh {PYTHON} '{RUN_ON}' >/tmp/$$.ready &
    process=$!; exec 9</tmp/$$.ready; rm /tmp/$$.ready
    until grep -q 'under_oom 1' a/memory.oom_control; do sleep 0.01; done
    until [ $(cut -d' ' -f3 /proc/$process/stat) = t ]; do sleep 0.01; done
    echo held $(cat a/memory.usage_in_bytes); sleep 0.3;"""


def test_without_the_oom_killer_a_process_waits_for_room(sandboxed: Sandboxed) -> None:
    script = f"""{WAITS_FOR_ROOM} echo 300M >a/memory.limit_in_bytes; head -c 5 <&9; echo; tail -2 a/memory.oom_control
        kill -9 $process"""
    assert told(sandboxed(script, enforce="memory", layout="v1")) == [
        f"held {64 << 20}",
        "ready",
        "under_oom 0",
        "oom_kill 0",
    ]


def test_who_waits_for_room_is_killed_once_the_oom_killer_may(sandboxed: Sandboxed) -> None:
    script = f"{WAITS_FOR_ROOM} echo 0 >a/memory.oom_control; wait $process || echo $?; tail -2 a/memory.oom_control"
    assert told(sandboxed(script, enforce="memory", layout="v1")) == [
        f"held {64 << 20}",
        "137",
        "under_oom 0",
        "oom_kill 1",
    ]


def test_a_limit_of_a_page_holds(sandboxed: Sandboxed) -> None:
    program = 'import sys; print(end="ready", flush=True); sys.stdin.read(1); x = bytearray(1 << 20); sys.stdin.read()'
    script = f"""{BEGIN} echo 4096 >a/memory.max; mkfifo /tmp/$$.ready /tmp/$$.go
        {PYTHON} '{program}' </tmp/$$.go >/tmp/$$.ready & process=$!
        exec 9>/tmp/$$.go; head -c 5 /tmp/$$.ready; rm /tmp/$$.ready /tmp/$$.go; echo
        echo $process >a/cgroup.procs; echo >&9; wait $process || echo $?; {EVENTS}"""
    assert told(sandboxed(script, enforce="memory")) == [
        "ready",
        "137",
        "low 0 high 0 max 35 oom 1 oom_kill 1 oom_group_kill 0",
    ]


HOLD = """
hold() {{ mkfifo /tmp/$$.ready
    sh -c 'echo $$ >'$1'/cgroup.procs; exec "$@"' sh {python} '{program}' >/tmp/$$.ready & process=$!
    head -c 5 /tmp/$$.ready >/dev/null; rm /tmp/$$.ready; }}
"""


def hold(mib: int) -> str:
    """`hold CGROUP` starts $process there, which has so many MiB then."""
    return HOLD.format(python=PYTHON, program=WAIT.format(mib=mib, seconds=60))


def test_what_is_over_the_limit_is_in_swap_where_there_is_some(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN}{hold(50)} echo 30M >a/memory.max; hold a
        cat a/memory.current; [ $(cat a/memory.swap.current) -gt $((18 << 20)) ] && echo swapped
        [ $(cat a/memory.swap.peak) -ge $(cat a/memory.swap.current) ] && echo peak
        {EVENTS} | sed 's/max [1-9][0-9]*/max many/'"""
    assert told(sandboxed(script, enforce="memory", swap="64Mi")) == [
        str(30 << 20),
        "swapped",
        "peak",
        "low 0 high 0 max many oom 0 oom_kill 0 oom_group_kill 0",
    ]


def test_who_is_over_the_limit_and_swap_is_killed(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo 30M >a/memory.max; echo 20M >a/memory.swap.max
        into a {GROW} || echo status $?; cat a/memory.peak; [ $(cat a/memory.swap.peak) -gt $((19 << 20)) ] && echo full
        grep -c -e 'oom 1' -e 'oom_kill 1' a/memory.events"""
    assert told(sandboxed(script, enforce="memory", swap="64Mi")) == ["status 137", str(30 << 20), "full", "2"]


def test_memory_is_reclaimed_as_far_as_there_is_swap(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN}{hold(40)} hold a
        echo 10M >a/memory.reclaim && cat a/memory.swap.current; echo 4M >a/memory.swap.max
        echo '1M swappiness=0' >a/memory.reclaim 2>/dev/null || echo files are few
        echo 20M >a/memory.reclaim 2>/dev/null || echo no more; kill -9 $process"""
    done = sandboxed(script, enforce="memory", swap="64Mi")
    swapped, *rest = told(done)
    assert 8 << 20 <= int(swapped) <= 10 << 20  # pages of files go first
    assert rest[-1] == "no more"


def test_nobody_reads_what_no_kernel_would_show(sandboxed: Sandboxed) -> None:
    program = 'x = bytearray(200 << 20); print(open("a/memory.current").read(), flush=True)'
    script = f"{BEGIN} into a {PYTHON} '{program}' || echo status $?; cat a/memory.peak"
    assert told(sandboxed(script, enforce="memory")) == ["status 137", str(64 << 20)]


def test_time_that_a_process_is_stopped_for_memory_is_pressure(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo max >a/memory.max; echo 32M >a/memory.high
        sh -c 'echo $$ >a/cgroup.procs; exec "$@"' sh {PYTHON} '{WAIT.format(mib=200, seconds=0)}' & process=$!
        total() {{ sed -n "s/$1.*total=//p" $2/memory.pressure; }}
        until [ $(total full a) -gt 100000 ]; do sleep 0.01; done; echo full
        some=$(total some a); [ $some -le $(total some .) ] && echo above; kill -9 $process"""
    assert told(sandboxed(script, enforce="memory")) == ["full", "above"]


POLL = """
import os, select, subprocess, sys
files = [os.open(path, os.O_RDWR) for path in ("a/memory.pressure", "/proc/pressure/memory")]
for file in files: os.write(file, b"some 100000 1000000\\0")
grown = subprocess.Popen(["sh", "-c", "echo $$ >a/cgroup.procs; exec \\"$@\\"", "sh", *sys.argv[1:]])
for file in files:
    poll = select.poll(); poll.register(file, select.POLLPRI); print([mask for _, mask in poll.poll(60000)])
    print(os.read(file, 4096).split()[4] != b"total=0")
grown.kill()
"""


def test_who_polls_for_pressure_is_woken_when_a_process_is_stopped_for_memory(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo max >a/memory.max; echo 32M >a/memory.high
        {PYTHON} '{POLL}' {PYTHON} 'x = bytearray(200 << 20)'"""
    assert told(sandboxed(script, enforce="memory")) == ["[2]", "True"] * 2


def test_v1_refuses_a_limit_that_cannot_be_met(sandboxed: Sandboxed) -> None:
    script = f"""set -e; cd /sys/fs/cgroup/memory; mkdir a;{hold(40)} hold a
        echo 20M >a/memory.limit_in_bytes 2>/dev/null || echo refused; cat a/memory.limit_in_bytes
        echo 60M >a/memory.limit_in_bytes && kill -9 $process && echo lives"""
    for swap, answers in (
        ("0", ["refused", str(((1 << 63) - 1) // 4096 * 4096)]),
        ("64Mi", [str(20 << 20)]),
    ):
        done = sandboxed(script, enforce="memory", layout="v1", swap=swap)
        assert told(done) == [*answers, "lives"]


THRESHOLD = (
    """
import os, select, subprocess, sys
os.chdir("/sys/fs/cgroup/memory"); os.mkdir("a")
event, usage = os.eventfd(0), os.open("a/memory.usage_in_bytes", os.O_RDONLY)
open("a/cgroup.event_control", "w").write("%d %d %d" % (event, usage, 40 << 20))
grow = """
    + repr(
        'import os; open("a/cgroup.procs", "w").write(str(os.getpid()));'
        "x = bytearray(60 << 20); print(end='.', flush=True); input(); del x; input()"
    )
    + """
child = subprocess.Popen([sys.executable, "-S", "-E", "-c", grow], stdin=-1, stdout=-1, bufsize=0)
child.stdout.read(1)
for step in range(2):
    select.select([event], [], [], 60)
    print(os.eventfd_read(event))
    child.stdin.write(b"\\n")
"""
)


def test_v1_thresholds_are_told_of(sandboxed: Sandboxed) -> None:
    done = sandboxed(f"'{sys.executable}' -S -E -", input=THRESHOLD, layout="v1", enforce="memory")
    assert told(done) == ["1", "1"]
