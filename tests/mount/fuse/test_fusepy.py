"""The operations of the fusepy transport without a mount."""

from __future__ import annotations

import errno
import os

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.fuse.fusepy import Operations
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.processes import HostProcesses


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def tree(kernel: Kernel) -> Operations:
    ids = IdMap(0, 0)
    return Operations(lambda: (0, 0, os.getpid()), "/none", kernel, ids, HostProcesses(ids), lambda: None)


def test_a_bug_in_the_model_is_eio_and_logged(
    tree: Operations, kernel: Kernel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel.vfs, "mkdir", None)
    with pytest.raises(OSError) as refused:
        tree("mkdir", "/a", 0o755)
    assert refused.value.errno == errno.EIO
    assert "TypeError" in caplog.text


def test_a_refusal_of_the_model_is_passed_on(tree: Operations) -> None:
    with pytest.raises(OSError) as refused:
        tree("rmdir", "/nothing")
    assert refused.value.errno == errno.ENOENT


def test_a_name_is_the_bytes_that_fusepy_decoded(tree: Operations, kernel: Kernel) -> None:
    tree("mkdir", "/" + "käse".encode().decode("latin-1"), 0o755)
    assert "käse" in kernel.listdir("/")


def test_a_time_that_stays_is_not_set(tree: Operations, kernel: Kernel) -> None:
    tree("utimens", "/cgroup.procs", (5, 7))
    tree("utimens", "/cgroup.procs", ((1 << 30) - 2, 9))
    found = kernel.stat("/cgroup.procs")
    assert (found.atime, found.mtime) == (5, 9)
