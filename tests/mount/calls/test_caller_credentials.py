"""Paths are looked up with the rights of the caller, where the daemon may search every directory."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

PROBE = f"{shlex.quote(sys.executable)} {shlex.quote(str(Path(__file__).with_name('lookup_probe.py')))}"
OTHER = "54321"
BELOW = "there missing cgroup tree tree/cgroup.procs proc/self/cgroup proc/self/mounts link/cgroup"
MAKE = """
    mkdir -m 700 /run/fcg-closed; cd /run/fcg-closed; mkdir there tree proc
    touch cgroup; mount --bind /sys/fs/cgroup tree; mount --bind /proc proc; ln -s proc/self link
"""

pytestmark = pytest.mark.usefixtures("root")


def closed(script: str) -> str:
    """A script with a directory that root alone may search, and things in it, on a file system of its own."""
    return f"mount -t tmpfs none /run && {{ {MAKE.strip()}\n cd /\n{script}\n }}"


@pytest.mark.hostile("another user asks what is below a directory of mode 0700, in eleven ways", times=88)
@pytest.mark.parametrize("user", [OTHER, "00"])
def test_a_caller_that_may_not_search_a_directory_is_told_nothing_of_it(sandboxed: Sandboxed, user: str) -> None:
    owner = "chown 1:1 /run/fcg-closed" if user == "00" else ":"
    shown = said(sandboxed(closed(f"{owner}\n{PROBE} /run/fcg-closed {user} {BELOW}")))
    assert shown.splitlines() == BELOW.split()


def test_root_is_told_of_all_of_it(sandboxed: Sandboxed) -> None:
    shown = said(sandboxed(closed("stat -fc %T /run/fcg-closed/tree; cat /run/fcg-closed/link/cgroup")))
    assert shown == "cgroup2fs\n0::/\n"


@pytest.mark.parametrize("who", ["setpriv --reuid 54321 --regid 54321 --clear-groups", "unshare -U", "unshare -Ur"])
def test_a_caller_that_may_search_it_finds_the_tree(sandboxed: Sandboxed, tmp_path: Path, who: str) -> None:
    tmp_path.chmod(0o755)
    script = f"""
        chmod 755 {tmp_path}; mkdir {tmp_path}/tree; mount --bind /sys/fs/cgroup {tmp_path}/tree
        cd {tmp_path}
        {who} sh -c 'stat -fc %T tree /sys/fs/cgroup /proc/self/root/sys/fs/cgroup; cd /proc/self
            cat cgroup /proc/self/cgroup /proc/thread-self/cgroup; grep -c " /sys/fs/cgroup cgroup2" /proc/mounts'
    """
    assert said(sandboxed(script)) == "cgroup2fs\n" * 3 + "0::/\n" * 3 + "1\n"


def test_groups_allow_a_search(sandboxed: Sandboxed) -> None:
    script = closed("""
        chgrp 777 /run/fcg-closed; chmod 750 /run/fcg-closed
        for groups in --clear-groups "--groups 777"; do
            setpriv --reuid 54321 --regid 54321 $groups stat -fc %T /run/fcg-closed/tree
        done
    """)
    done = sandboxed(script)
    assert (done.stdout, "Permission denied" in done.stderr) == ("cgroup2fs\n", True)
