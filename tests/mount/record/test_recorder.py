"""The thread that writes a trace, without a tree."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from fakecgroup.trace.call import Call
from fakecgroup_mount.record import recorder as module
from fakecgroup_mount.record.order import Order
from fakecgroup_mount.record.recorder import Recorder
from tests.waiting import wait_until


def recorder_of(path: Path) -> Recorder:
    found = Recorder(os.open(path, os.O_WRONLY | os.O_CREAT), str(path), 1 << 20, [])
    found.start()
    return found


def operations(path: Path) -> list[str]:
    return [json.loads(line)["op"] for line in path.read_text().splitlines()]


def test_a_trace_is_whole_though_its_thread_is_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(order: Order, when: int) -> None:
        time.sleep(0.3)
        order.add(when, Call(when / 1e9, 1, "sh", "open"))

    monkeypatch.setattr(module, "_PATIENCE", 0.01)
    recorder = recorder_of(tmp_path / "t")
    recorder.take(time.monotonic_ns(), slowly, 1, ())
    recorder.end()
    recorder.wait()
    assert operations(tmp_path / "t") == ["open", "end"]


class _EmptiedMeanwhile(deque[Any]):
    """Seems to have a record when it is asked how many, as if the thread had emptied it right after."""

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return super().__len__() > 0


def test_a_call_that_comes_while_the_queue_is_emptied_is_written(tmp_path: Path) -> None:
    recorder = recorder_of(tmp_path / "t")
    recorder._queue = _EmptiedMeanwhile()
    recorder.note(Call(0.0, 1, "sh", "open"))
    wait_until(lambda: operations(tmp_path / "t") == ["open"])
    recorder.end()
    recorder.wait()
