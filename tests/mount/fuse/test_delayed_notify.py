"""Delayed events come from a thread of their own."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from fakecgroup import Kernel
from fakecgroup.core.cgroup_file import CgroupFile
from fakecgroup_mount.fuse.delayed_notify import DelayedNotifier

MS = 1_000_000  # ns


class Events:
    """A kernel with the cgroups a, b and c, and the time of each event by cgroup."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.told: list[tuple[str, float]] = []
        self.all_told = threading.Event()
        self.kernel = Kernel("v2")
        self.put_off = DelayedNotifier(self.lock)
        self.files: dict[str, CgroupFile] = {}
        for name in "abc":
            self.kernel.mkdir(name)
            self.files[name] = self.kernel.open(f"{name}/cgroup.events").inode
        self.kernel.on_notify = self.notify

    def notify(self, file: CgroupFile) -> None:
        self.told.append((file.cgroup.name, time.monotonic()))
        if len(self.told) == 3:
            self.all_told.set()
        if file.cgroup.name == "a":
            raise KeyError("a bug")


@pytest.fixture
def events() -> Events:
    return Events()


def test_each_is_told_when_it_is_time(
    events: Events, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = time.monotonic()
    waits = {"c": 30, "a": 10, "b": 20}  # ms
    clock = SimpleNamespace(monotonic_ns=lambda: int(begin * 1e9))  # which stands still for as long as that takes
    with monkeypatch.context() as patch, events.lock:
        patch.setattr("fakecgroup_mount.fuse.delayed_notify.time", clock)
        for name, wait in waits.items():
            events.put_off.add(events.files[name], wait * MS)
    assert events.all_told.wait(20)
    assert [name for name, _ in events.told] == ["a", "b", "c"]
    assert all(when - begin > waits[name] / 1000 - 0.001 for name, when in events.told)
    assert "KeyError: 'a bug'" in caplog.text  # which keeps nobody else waiting


def test_nothing_is_told_while_somebody_uses_the_model(events: Events) -> None:
    with events.lock:
        for name in "cba":
            events.put_off.add(events.files[name], 0)
        time.sleep(0.05)
        assert events.told == []
    assert events.all_told.wait(20)
