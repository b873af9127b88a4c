"""Forks fail with EAGAIN where pids.max is reached."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

STORM = f"'{sys.executable}' '{Path(__file__).with_name('fork_storm.py')}'"
MAKE = {
    "v2": "cd /sys/fs/cgroup; echo +pids >cgroup.subtree_control; mkdir a",
    "v1": "cd /sys/fs/cgroup/pids; mkdir a",
}
END = """
for i in $(seq 200); do
    for pid in $(cat a/cgroup.procs); do kill -9 $pid 2>/dev/null; done
    [ $(cat a/pids.current) = 0 ] && break
    sleep 0.05
done
cat a/pids.current
"""


@pytest.mark.parametrize(("kind", "layout"), [("fork", "v2"), ("spawn", "v1"), ("thread", "v2")])
def test_forks_at_once_end_at_the_limit(sandboxed: Sandboxed, kind: str, layout: str) -> None:
    script = f"{MAKE[layout]}; echo 20 >a/pids.max; (echo 0 >a/cgroup.procs; exec {STORM} {kind} 4 10)\n" + (
        f"cat a/pids.current a/pids.events; {END}"
    )
    # the workers stay; the end of the storm's first process makes room for one
    told, current, events, left = said(sandboxed(script, layout=layout)).splitlines()
    assert told == "20 25 0"
    assert (int(current), events, left) in [(20, "max 25", "0"), (19, "max 25", "0")]


def test_a_fork_bomb_ends_and_leaves_nothing(sandboxed: Sandboxed) -> None:
    script = f"""{MAKE["v2"]}; echo 20 >a/pids.max
        (echo 0 >a/cgroup.procs; exec bash -c ':() {{ : | : & }}; :; wait; sleep 0.5') 2>&1 | grep -m 1 -o fork:
        [ $(cat a/pids.peak) -le 20 ] && grep -q 'max [1-9]' a/pids.events && echo held
        {END}"""
    assert said(sandboxed(script)) == "fork:\nheld\n0\n"


def test_a_full_cgroup_takes_a_process_that_is_moved_but_no_child(sandboxed: Sandboxed) -> None:
    script = f"""{MAKE["v2"]}; mkdir a/b; echo 0 >a/pids.max; echo $$ >a/b/cgroup.procs
        echo moved; /bin/true; echo no"""
    done = sandboxed(script)
    assert done.stdout == "moved\n"
    assert "Cannot fork" in done.stderr


AGAIN = """
import os
def fork():
    try:
        pid = os.fork()
    except OSError as error:
        return error.strerror
    return os._exit(0) if pid == 0 else os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
open("a/pids.max", "w").write("1")
open("a/cgroup.procs", "w").write("0")
print(fork(), fork())
open("a/pids.max", "w").write("2")
print(fork(), fork())
"""


def test_a_process_that_was_refused_may_fork_once_there_is_room(sandboxed: Sandboxed) -> None:
    script = f"{MAKE['v2']}; '{sys.executable}' -c '{AGAIN}'; cat a/pids.events"
    again = "Resource temporarily unavailable"
    assert said(sandboxed(script)) == f"{again} {again}\n0 0\nmax 2\n"


def test_refusals_are_counted_where_the_kernel_counts_them(sandboxed: Sandboxed) -> None:
    script = f"""{MAKE["v2"]}; mkdir a/b; echo +pids >a/cgroup.subtree_control; echo 1 >a/pids.max
        (echo 0 >a/b/cgroup.procs; '{sys.executable}' -c 'import os; os.fork()' 2>/dev/null)
        cat a/pids.events a/b/pids.events"""
    assert said(sandboxed(script, kernel="6.1")) == "max 0\nmax 1\n"
    assert said(sandboxed(script, kernel="6.12")) == "max 1\nmax 0\n"
