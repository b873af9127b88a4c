"""Memory that processes share counts for memory.max where it is certainly charged (`run --enforce memory`).

What happens is what a booted 6.12 does, but for memory that was mapped before: there it is charged as well.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed
from .test_enforced_memory import BEGIN, EVENTS, told

SHARED = """
import mmap, os, sys, time
def into(cgroup): open("/sys/fs/cgroup/" + cgroup + "/cgroup.procs", "w").write("0")
def shared(mib): return mmap.mmap(-1, mib << 20)
def touch(memory, mib):
    for page in range(0, mib << 20, 4096): memory[page] = 1
def look(memory, mib): return sum(memory[page] for page in range(0, mib << 20, 4096))
def forked(work):
    child = os.fork()
    if not child:
        work(); os._exit(0)
    return child
def end(child): return "killed" if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else "lives"
"""
KILLED, LIVES = "oom_kill 1", "oom_kill 0"


@pytest.mark.parametrize(
    ("what", "program", "told_of"),
    [
        ("its own", 'print(end(forked(lambda: (into("a"), touch(shared(200), 200)))))', ("killed", KILLED)),
        ("a fork's", 'into("a"); m = shared(200); print(end(forked(lambda: touch(m, 200))))', ("killed", KILLED)),
        (
            "the victim's, which outlives it",
            """into("a"); m = shared(200); how = end(forked(lambda: touch(m, 200)))
for _ in range(100): look(m, 40)
print(how, "and the other", "lives")""",
            ("killed and the other lives", KILLED),
        ),
        (
            "everybody's, which counts once",
            """into("a"); m = shared(48)
children = [forked(lambda: (touch(m, 48), time.sleep(1))) for _ in range(4)]
print(*{end(child) for child in children})""",
            ("lives", LIVES),
        ),
        (
            "what it had before it came",
            'm = shared(100); touch(m, 100); print(end(forked(lambda: (into("a"), look(m, 100), time.sleep(1)))))',
            ("lives", LIVES),
        ),
        (
            "what one has touched that was moved away",
            """into("a"); m = shared(100); end(forked(lambda: (into("b"), touch(m, 100))))
print(end(forked(lambda: (look(m, 100), time.sleep(1)))))""",
            ("lives", LIVES),
        ),
        (
            "what one has touched that was cloned elsewhere",
            """
import ctypes, struct
into("a"); m = shared(100); fd = os.open("/sys/fs/cgroup/b", os.O_PATH)
INTO_CGROUP, SIGCHLD = 0x200000000, 17
arguments = ctypes.create_string_buffer(struct.pack("=11Q", INTO_CGROUP, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, fd), 88)
child = ctypes.CDLL(None).syscall(435, arguments, ctypes.c_size_t(88))
if not child:
    touch(m, 100); os._exit(0)
end(child); print(end(forked(lambda: (look(m, 100), time.sleep(1)))))""",
            ("lives", LIVES),
        ),
        (
            "a file in memory, which others may have written",
            'into("a"); fd = os.memfd_create("x"); os.truncate(fd, 200 << 20); touch(mmap.mmap(fd, 200 << 20), 200); '
            'time.sleep(1); print("lives")',
            ("lives", LIVES),
        ),
    ],
)
def test_shared_memory(
    sandboxed: Sandboxed, state_home: Path, what: str, program: str, told_of: tuple[str, str]
) -> None:
    script = f"{BEGIN} mkdir b; '{sys.executable}' -S -E - <<'END'\n{SHARED}{program}\nEND\n{EVENTS}"
    said, events = told(sandboxed(script, enforce="memory"))
    assert (said, told_of[1] in events) == (told_of[0], True), what
    log = state_home / "fakecgroup" / "daemon.log"
    if log.exists() and told_of[1] == LIVES:  # what is uncertain is logged, if somebody has looked at that moment
        assert all("/a is left alone" in line for line in log.read_text().splitlines())
        log.unlink()


def test_its_swap_is_shown(sandboxed: Sandboxed) -> None:
    program = 'into("a"); m = shared(100); touch(m, 100); read = open("/sys/fs/cgroup/a/memory.swap.current").read()'
    program += "\nprint(int(read) >= 36 << 20)"
    script = (
        f"{BEGIN} echo max >a/memory.swap.max; '{sys.executable}' -S -E - <<'END'\n{SHARED}{program}\nEND\n{EVENTS}"
    )
    said, events = told(sandboxed(script, enforce="memory", swap="1G"))
    assert (said, LIVES in events) == ("True", True)
