"""A process with descendants that live for some ms each, in a cgroup, and what they used by what is told of the dead.

    family.py COUNTER DIRECTORY into|join SEED [KIND...]

Whoever starts it is in no cgroup, and exits at once: the family is waited for by this program, its subreaper.
COUNTER is the file of DIRECTORY that shall say the same, cpu.stat (µs) or cpuacct.usage (ns); it is read until it does,
and both are printed in ms. With BESIDE, a cgroup of a kernel's cpuacct hierarchy that the family joins too, its
cpuacct.usage is what the file shall say.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import struct
import sys
import threading
import time

CLONE3, CLONE_INTO_CGROUP = 435, 0x200000000
SET_CHILD_SUBREAPER = 36
KINDS = ("forks", "orphans", "threads", "execs")  # and "kills", or "memory" alone
DEPTH = 2
BESIDE = os.environ.get("BESIDE", "")
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def burn(ms: int) -> None:
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        pass


def live(seed: int, depth: int, kinds: list[str]) -> None:
    """Never returns."""
    choice = random.Random(seed)
    burn(choice.randrange(1, 25))
    if kinds == ["memory"]:
        b"x" * (50 << 20)
        os._exit(0)
    for number in range(choice.randrange(1, 4)):
        kind = choice.choice(kinds)
        below = choice.randrange(1 << 30)
        if kind == "threads":
            threads = [threading.Thread(target=burn, args=(choice.randrange(1, 15),)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        elif kind == "execs" and depth and number:
            execute("member", str(below), str(depth - 1), *kinds)
        elif depth and (pid := os.fork()) == 0:
            live(below, depth - 1, kinds)
        elif depth and kind == "forks":
            os.waitpid(pid, 0)
        else:
            burn(choice.randrange(1, 10))
    if "kills" in kinds and choice.randrange(2):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(0)


def execute(*arguments: str) -> None:
    os.execv(sys.executable, [sys.executable, "-S", "-E", __file__, *arguments])


def start(directory: str, how: str, seed: str, kinds: list[str]) -> int:
    """The pid of whoever started it."""
    pid = os.fork()
    if pid:
        return pid
    if how == "join":
        for joined in filter(None, (directory, BESIDE)):
            with open(f"{joined}/cgroup.procs", "w") as file:
                file.write("0")
        if os.fork():
            os._exit(0)
        execute("member", seed, str(DEPTH), *kinds)
    fd = os.open(directory, os.O_RDONLY)
    arguments = ctypes.create_string_buffer(
        struct.pack("=11Q", CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, fd), 88
    )
    child = libc.syscall(CLONE3, arguments, ctypes.c_size_t(88))
    if child == 0:
        execute("member", seed, str(DEPTH), *kinds)
    os._exit(child < 0)


def wait(starter: int) -> float:
    """ms of all but the starter."""
    used = 0.0
    while True:
        try:
            pid, status, use = os.wait4(-1, 0)
        except ChildProcessError:
            return used
        if pid != starter:
            used += (use.ru_utime + use.ru_stime) * 1000
        elif status:
            sys.exit("the family was not started")


def counted(counter: str, directory: str) -> float:
    """ms."""
    with open(f"{directory}/{counter}") as file:
        first = file.readline().split()[-1]
    return int(first) / (1000 if counter == "cpu.stat" else 1_000_000)


def main(counter: str, directory: str, how: str, seed: str, *kinds: str) -> None:
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = counted(counter, directory)
    kernel = counted("cpuacct.usage", BESIDE) if BESIDE else 0
    used = wait(start(directory, how, seed, list(kinds or KINDS)))
    if BESIDE:
        used = counted("cpuacct.usage", BESIDE) - kernel
    end = time.monotonic() + 20
    while time.monotonic() < end and abs(counted(counter, directory) - before - used) > max(10, used / 50):
        time.sleep(0.05)
    print(round(used), round(counted(counter, directory) - before))


if sys.argv[1] == "member":
    live(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
else:
    main(*sys.argv[1:])
