"""A thread in another cgroup than its leader: its children start in the thread's cgroup."""

from __future__ import annotations

import shlex
import sys

import pytest

from .conftest import Sandboxed, said

MAKE = {
    "v2": "cd /sys/fs/cgroup; mkdir -p a/t a/s; for d in a/t a/s; do echo threaded >$d/cgroup.type; done; cd a",
    "v1": "cd /sys/fs/cgroup/pids; mkdir t s",
}

SCRIPT = """
import os, sys, threading, time

tasks, leaders = sys.argv[1], sys.argv[2]

def place(of):
    found = [d for d in ("s", "t") if str(of) in open(f"{d}/{tasks}").read().split()]
    return found[0] if found else "elsewhere"

def thread():
    number = []
    made = threading.Event()
    def work():
        number.append(threading.get_native_id())
        made.set()
        threading.Event().wait()
    threading.Thread(target=work, daemon=True).start()
    made.wait()
    return number[0]

def fork():
    child = os.fork()
    if not child:
        time.sleep(300)
    return child

def apart():
    with open(f"t/{tasks}", "w") as file:
        file.write(str(threading.get_native_id()))
    child = fork()
    print(place(thread()), place(thread()), place(child), flush=True)
    os.kill(child, 9)
    os.waitpid(child, 0)

if leaders:
    with open(f"{leaders}/{tasks}", "w") as file:
        file.write(str(os.getpid()))
other = thread()
worker = threading.Thread(target=apart)
worker.start()
worker.join()
child = fork()
print(place(thread()), place(other), place(child), flush=True)
os.kill(child, 9)
os.waitpid(child, 0)
os._exit(0)
"""


@pytest.mark.parametrize(("layout", "leaders"), [("v2", "s"), ("v1", "s"), ("v1", "")])
def test_the_children_of_a_thread_start_in_its_cgroup(sandboxed: Sandboxed, layout: str, leaders: str) -> None:
    tasks = {"v2": "cgroup.threads", "v1": "tasks"}[layout]
    begin = f"{MAKE[layout]}; [ {layout} = v1 ] || echo $$ >cgroup.procs"
    told = said(
        sandboxed(f"{begin}; exec '{sys.executable}' -c {shlex.quote(SCRIPT)} {tasks} '{leaders}'", layout=layout)
    )
    where = leaders or "elsewhere"
    assert told.splitlines() == ["t t t", f"{where} {where} {where}"]
