"""The credentials of a caller, from /proc."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakecgroup.credentials.capability import ALL, NO_PRIVILEGES
from fakecgroup_mount.host.credentials import Credentials, Mounter, groups_of, view_of

from ...waiting import wait_until
from ..conftest import OTHER_UID, needs_root


@pytest.fixture
def mounter() -> Mounter:
    return Mounter(os.geteuid(), {}, {})


@pytest.fixture
def in_user_namespace() -> Iterator[int]:
    """A process in a user namespace that maps only its own ids, to 0."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    with subprocess.Popen(["unshare", "-Ur", "sleep", "300"]) as process:
        wait_until(lambda: "sleep" in Path(f"/proc/{process.pid}/comm").read_text())
        yield process.pid
        process.kill()


def test_the_mounter_is_root_with_all_capabilities(mounter: Mounter) -> None:
    found = mounter.privileges(os.getpid(), os.geteuid())
    assert (found.effective, found.permitted, found.namespace) == (ALL, ALL, 0)


def test_who_cannot_be_seen_has_no_privilege(mounter: Mounter) -> None:
    assert mounter.privileges(0) is NO_PRIVILEGES
    assert mounter.privileges(2**22 + 1) is NO_PRIVILEGES


def test_where_proc_is_of_another_pid_namespace_the_uid_alone_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pid, own = os.getpid(), os.geteuid()
    monkeypatch.setattr("os.getpid", lambda: pid + 1)
    mounter = Mounter(own, {}, {})
    assert mounter.privileges(pid, own).effective == mounter.by_real_ids(pid, own).effective == ALL
    assert mounter.privileges(pid, own + 1) is mounter.privileges(pid) is NO_PRIVILEGES


def test_who_acts_for_another_uid_has_no_privilege(mounter: Mounter) -> None:
    assert mounter.privileges(os.getpid(), 1234567) is NO_PRIVILEGES


def test_root_of_another_user_namespace_is_root_of_its_own_ids(mounter: Mounter, in_user_namespace: int) -> None:
    found = mounter.privileges(in_user_namespace)
    assert found.effective
    assert found.namespace not in (0, None)
    own = os.geteuid()
    assert [uid in found.uids for uid in (own, own + 1)] == [True, False]


def test_the_ids_of_another_user_namespace_are_those_that_the_mounter_plays(in_user_namespace: int) -> None:
    found = Mounter(os.geteuid(), {7: os.geteuid()}, {}).privileges(in_user_namespace)
    assert [uid in found.uids for uid in (7, os.geteuid() + 1)] == [True, False]


@needs_root
@pytest.mark.hostile("a process with more groups than fit into one read")
def test_a_long_list_of_groups_hides_nothing(mounter: Mounter) -> None:
    with subprocess.Popen(["sleep", "300"], extra_groups=range(100_000, 105_000), user=OTHER_UID) as process:
        try:
            assert len(groups_of(process.pid)) == 5000
            assert mounter.privileges(process.pid, OTHER_UID).effective == 0
        finally:
            process.kill()


@needs_root
def test_each_thread_has_capabilities_of_its_own(mounter: Mounter) -> None:
    done, asked = threading.Event(), threading.Event()
    found: list[int] = []

    def without() -> None:
        ctypes.CDLL(None).capset(struct.pack("=Ii", 0x20080522, 0), bytes(24))
        found.append(threading.get_native_id())
        done.set()
        asked.wait(60)

    thread = threading.Thread(target=without)
    thread.start()
    try:
        assert done.wait(60)
        assert mounter.privileges(found[0]).effective == 0
        assert mounter.privileges(os.getpid()).effective == ALL
    finally:
        asked.set()
        thread.join()


def test_a_view_is_the_same_in_the_same_part_of_the_machine(in_user_namespace: int, mounter: Mounter) -> None:
    kept = mounter.privileges(os.getpid()).to_keep()
    assert isinstance(kept, Credentials)
    assert kept.view == view_of("self") is not None


@needs_root
@pytest.mark.parametrize("option", ["--mount", "--net", "--ipc", "--uts", "--root=/proc/self/root/usr"])
def test_another_view_is_told_from_ours(option: str) -> None:
    if shutil.which("unshare") is None or not Path("/usr/bin/sleep").exists():
        pytest.skip("needs unshare and /usr/bin/sleep")
    here = view_of("self")
    program = "/bin/sleep" if "root" in option else "sleep"
    with subprocess.Popen(["unshare", option, program, "300"]) as process:
        try:
            wait_until(lambda: view_of(process.pid) != here or process.poll() is not None)
            assert process.poll() is None
        finally:
            process.kill()
