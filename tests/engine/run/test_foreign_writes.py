"""Writes of others: on this machine's own cgroups, and on a mounted fake."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable
from errno import ENODEV
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.run.foreign_writes import ForeignWrites
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import detect

from .on_host import ROOT, needs_cgroup_v1


class Following:
    """The writes that were reported so far."""

    def __init__(self, root: Path, top: str) -> None:
        layout = detect(OsFs(str(root)), str(root))
        try:
            self.writers = ForeignWrites(str(root), layout, top)
        except PermissionError:
            pytest.skip("fanotify of a whole file system is not permitted")
        self.told: dict[str, str] = {}

    def until(self, *paths: str) -> None:
        end = time.monotonic() + 10
        while not self.told.keys() >= set(paths):
            assert time.monotonic() < end, f"told: {self.told}"
            if select.select([self.writers], [], [], 0.1)[0]:
                self.told.update(self.writers.read())


def _shell(script: str) -> subprocess.Popen[bytes]:
    """Runs a script in a shell that stays alive; returns its pid."""
    return subprocess.Popen(["sh", "-c", f"{script}; read line"], stdin=subprocess.PIPE)


def end(shell: subprocess.Popen[bytes]) -> None:
    assert shell.stdin is not None
    shell.stdin.close()


@needs_cgroup_v1
def test_strangers_are_named_with_what_they_wrote_made_and_removed(own_cgroup: str) -> None:
    following = Following(ROOT, own_cgroup)
    made = f"cpu/{own_cgroup}/made"
    with _shell(f"cd {ROOT}; echo 100 > cpu/{own_cgroup}/cpu.shares; mkdir {made}; rmdir {made}") as shell:
        following.until(f"cpu/{own_cgroup}/cpu.shares", made)
        end(shell)
    assert following.told[f"cpu/{own_cgroup}/cpu.shares"] == f"sh (pid {shell.pid})"
    assert "pid" in following.told[made]
    following.writers.close()


@needs_cgroup_v1
def test_own_writes_and_those_elsewhere_are_not_told(own_cgroup: str) -> None:
    following = Following(ROOT, "fcg-somewhere-else")
    with _shell(f"echo 100 > {ROOT}/cpu/{own_cgroup}/cpu.shares") as shell:
        end(shell)
    assert following.writers.read() == {}
    following.writers.close()
    following = Following(ROOT, own_cgroup)
    (ROOT / "cpu" / own_cgroup / "cpu.shares").write_text("200")
    assert following.writers.read() == {}
    following.writers.close()


@needs_cgroup_v1
def test_nothing_stays_open(own_cgroup: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    following = Following(ROOT, own_cgroup)
    with _shell(f"echo 100 > {ROOT}/cpu/{own_cgroup}/cpu.shares") as shell:
        following.until(f"cpu/{own_cgroup}/cpu.shares")
        end(shell)
    following.writers.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="fanotify of a whole file system needs root")
def test_a_writer_in_a_fake_is_named(mounted_fake: Callable[..., Any]) -> None:
    tree = mounted_fake("v2")
    (tree / "kubepods").mkdir()
    following = Following(tree, "kubepods")
    with _shell(f"echo 3 > {tree}/kubepods/cgroup.max.depth") as shell:
        following.until("kubepods/cgroup.max.depth")
        end(shell)
    assert following.told == {"kubepods/cgroup.max.depth": f"sh (pid {shell.pid})"}
    following.writers.close()


def test_a_write_to_a_file_whose_cgroup_is_gone_meanwhile_may_be_any(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [OSError(ENODEV, "No such device"), BlockingIOError()]
    writers = ForeignWrites.__new__(ForeignWrites)  # 6.1 answers so to a listener without names
    writers._handle = -1

    def read(handle: int, size: int) -> None:
        raise answers.pop(0)

    monkeypatch.setattr("cgroup_engine.run.foreign_writes.os.read", read)
    assert writers.read() == {"": ""}
