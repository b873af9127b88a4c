"""/proc/self/mountinfo and /proc/mounts can be polled for changes. The answers are those of Linux 6.18."""

from __future__ import annotations

import sys
from pathlib import Path

from .conftest import Sandboxed, said

PROGRAM = """
import os, select, subprocess, sys, threading
place = sys.argv[1]
def change(): subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
def undo(): subprocess.run(["umount", place], check=True)
file = os.open(sys.argv[2], os.O_RDONLY)
poller = select.poll()
poller.register(file, select.POLLPRI)
print(poller.poll(0) == [])
change()
print([hex(mask) for _, mask in poller.poll(5000)], poller.poll(0) == [])
threading.Timer(0.3, undo).start()
print([hex(mask) for _, mask in poller.poll(20000)], poller.poll(0) == [])
epoll = select.epoll()
epoll.register(file, select.EPOLLIN | select.EPOLLET | select.EPOLLPRI)
print([hex(mask) for _, mask in epoll.poll(0)], end=" ")
threading.Timer(0.3, change).start()
print([hex(mask) for _, mask in epoll.poll(20)], epoll.poll(0) == [])
text = b""
while more := os.read(file, 100):
    text += more
print(place.encode() in text, text == os.pread(file, 1 << 20, 0) == open(sys.argv[2], "rb").read())
undo()
print(place.encode() in os.pread(file, 1 << 20, 0), os.fstat(file).st_size, oct(os.fstat(file).st_mode))
"""
SEEN = """\
True
['0xa'] True
['0xa'] True
['0x1'] ['0xb'] True
True True
False 0 0o100444
"""


def test_changes_of_mounts_are_polled(sandboxed: Sandboxed, tmp_path: Path) -> None:
    program = f"'{sys.executable}' -c '{PROGRAM}' {tmp_path}"
    alone = "mount --make-rprivate /"  # else what others mount meanwhile wakes it too
    script = f"{alone}; for f in self/mountinfo mounts; do {program} /proc/$f; done"
    assert said(sandboxed(script)) == SEEN * 2


def test_the_files_are_on_procfs(sandboxed: Sandboxed) -> None:
    script = "exec 3</proc/self/mountinfo; stat -f -c '%t %s %l %b' /proc/self/fd/3; stat -f -c '%t %s %l %b' /proc"
    one, other = said(sandboxed(script)).splitlines()
    assert one == other


def test_the_open_files_of_a_process_that_is_gone(sandboxed: Sandboxed) -> None:
    script = "sleep 60 & exec 3</proc/$!/mountinfo; kill $!; wait; grep -c ' /sys/fs/cgroup ' <&3; cat /proc/$!/mounts"
    done = sandboxed(script)
    assert (done.returncode, done.stdout, "No such file" in done.stderr) == (1, "1\n", True)
