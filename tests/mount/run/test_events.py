"""What tells programs in front of a tree of changes, as it does at a mount point."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

EVENTFD = """
import os
event = os.eventfd(0)
os.mkdir("a")
control = os.open("a/memory.oom_control", os.O_RDONLY)
open("a/cgroup.event_control", "w").write(f"{event} {control}")
os.close(control)
os.rmdir("a")
print(os.eventfd_read(event))
"""


def test_a_release_agent_sees_what_the_command_sees(sandboxed: Sandboxed, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\nrmdir /sys/fs/cgroup/pids$1 && echo $1 >{tmp_path}/told\n")
    agent.chmod(0o755)
    script = f"""
        cd /sys/fs/cgroup/pids; echo {agent} >release_agent; echo 1 >notify_on_release; mkdir fcg-released
        sh -c 'echo $$ >fcg-released/tasks'
        for i in $(seq 200); do [ -e {tmp_path}/told ] && break; sleep 0.05; done; cat {tmp_path}/told; ls -d fcg*
    """
    assert sandboxed(script, layout="v1").stdout == "/fcg-released\n"


def test_a_release_agent_takes_the_tree_for_a_real_one(sandboxed: Sandboxed, tmp_path: Path) -> None:
    agent, told = tmp_path / "agent", tmp_path / "told"
    agent.write_text(
        "#!/bin/sh\n{ stat -f -c %t /sys/fs/cgroup/pids; grep pids /proc/self/cgroup\n"
        "grep -c '/sys/fs/cgroup.* fuse' /proc/self/mounts\n"
        f"tr '\\0' ' ' </proc/self/environ; id -u; pwd; }} >{told}.new; mv {told}.new {told}\n"
    )
    agent.chmod(0o755)
    script = f"""
        cd /sys/fs/cgroup/pids; echo {agent} >release_agent; mkdir a; echo 1 >a/notify_on_release
        sh -c 'echo $$ >a/tasks'; for i in $(seq 200); do [ -e {told} ] && break; sleep 0.05; done; cat {told}
    """
    kind, place, fuse, *process = said(sandboxed(script, layout="v1")).splitlines()
    assert (kind, place.partition(":")[2], fuse) == ("27e0eb", "pids:/", "0")
    assert process == ["HOME=/ PATH=/sbin:/bin:/usr/sbin:/usr/bin 0", "/"]


def test_each_of_many_releases_is_told(sandboxed: Sandboxed, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\necho $1 >>{tmp_path}/told\n")
    agent.chmod(0o755)
    script = f"""
        cd /sys/fs/cgroup/pids; echo {agent} >release_agent; echo 1 >notify_on_release
        for i in $(seq 10 29); do mkdir $i; echo $$ >$i/tasks; echo $$ >tasks; done
        for i in $(seq 200); do [ $(wc -l <{tmp_path}/told) = 20 ] && break; sleep 0.05; done; sort {tmp_path}/told
    """
    assert sandboxed(script, layout="v1").stdout.split() == [f"/{number}" for number in range(10, 30)]


@pytest.mark.parametrize("inside", ["", "unshare -Urpf", "unshare -UrCpf --mount-proc"])
def test_an_eventfd_hears_of_a_removal(sandboxed: Sandboxed, inside: str) -> None:
    script = f"cd /sys/fs/cgroup/memory; {inside} '{sys.executable}' -c '{EVENTFD}'"
    assert said(sandboxed(script, layout="v1")) == "1\n"


INOTIFY = """
import ctypes, os, select, subprocess
libc = ctypes.CDLL(None)
os.mkdir("a")
child = subprocess.Popen(["sleep", "60"])
open("a/cgroup.procs", "w").write(str(child.pid))
watch = libc.inotify_init1(0)
libc.inotify_add_watch(watch, b"a/cgroup.events", 2)
polled = open("a/cgroup.events")
polled.read()
poller = select.poll()
poller.register(polled, select.POLLPRI)
child.kill()
print(bool(poller.poll(20000)), bool(select.select([watch], [], [], 20)[0]))
child.wait()
print(open("a/cgroup.events").readline(), end="")
"""


def test_poll_and_inotify_hear_of_the_last_process(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"cd /sys/fs/cgroup; '{sys.executable}' -c '{INOTIFY}'")) == "True True\npopulated 0\n"


def test_a_frozen_process_stands_still(sandboxed: Sandboxed) -> None:
    script = """
        cd /sys/fs/cgroup; mkdir a; sleep 60 & echo $! >a/cgroup.procs; echo 1 >a/cgroup.freeze
        for i in $(seq 100); do grep -q stopped /proc/$!/status && break; sleep 0.05; done
        grep -c stopped /proc/$!/status
        echo 1 >a/cgroup.kill; wait; rmdir a
    """
    assert said(sandboxed(script)) == "1\n"
