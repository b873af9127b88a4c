"""A daemon is killed while it waits for an answer of its own file system."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from ..conftest import REPOSITORY

DAEMON = """
import os, threading, time
from fakecgroup_mount.fuse.fuse_mount import open_device
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.calls.mountinfo_files import NAMES, MountinfoFiles

class Slow(MountinfoFiles):
    def _lookup(self, *of):
        print("asked", flush=True)
        time.sleep(300)

fuse = open_device()
syscalls.mount("slow", "/proc", "fuse.slow", 0, f"fd={fuse},rootmode=40000,user_id=0,group_id=0")
root = os.open("/proc", os.O_PATH)
syscalls.unmount("/proc")
files = Slow(fuse, root, "0:0", dict.fromkeys(NAMES), {}, None, None)
threading.Thread(target=files.serve, daemon=True).start()
files.open(b"mounts", 1, 0)
"""


def test_a_process_that_waits_for_its_own_answer_can_be_killed(fuse: None) -> None:
    command = ["unshare", "-Urm", sys.executable, "-c", DAEMON]
    daemon = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    if daemon.stdout.readline() != "asked\n":
        pytest.skip(f"no user namespaces here: {daemon.communicate()[1]}")
    daemon.send_signal(signal.SIGKILL)
    assert daemon.wait(timeout=60) == -signal.SIGKILL
    daemon.communicate()
