"""Traces for tests, written call by call."""

from __future__ import annotations

import io
from collections.abc import Iterable
from itertools import count
from typing import Any

from fakecgroup.trace.call import Call, line_of
from fakecgroup.trace.replay import Replay
from fakecgroup.trace.trace_file import Head, TraceReader

PID = 1000


class Script:
    """The calls of processes, as a recorder would note them. Times are 1 ms apart."""

    def __init__(self, layout: str = "v2", kernel: str | None = "6.12") -> None:
        self.head = Head(layout, kernel, {}, "a test")
        self.calls: list[Call] = []
        self._handles = count(1)

    def call(self, op: str, path: str = "", data: bytes | None = None, errno: str | None = None, result: Any = None,
             *, pid: int = PID, **more: Any) -> Call:  # fmt: skip
        made = Call(len(self.calls) / 1000, pid, "sh", op, path, data, errno, result, more)
        self.calls.append(made)
        return made

    def write(self, path: str, data: str, errno: str | None = None, *, pid: int = PID) -> None:
        """open, write, close."""
        handle = next(self._handles)
        self.call("open", path, result=handle, flags="O_WRONLY", pid=pid)
        written = data.encode()
        self.call("write", path, written, errno, None if errno else len(written), handle=handle, pid=pid)
        self.call("close", path, result=0, handle=handle, pid=pid)

    def read(self, path: str, *parts: str, pid: int = PID) -> None:
        """open, a read for each part and one for the end, close."""
        handle, offset = next(self._handles), 0
        self.call("open", path, result=handle, flags="O_RDONLY", pid=pid)
        for part in (*parts, ""):
            data = part.encode()
            self.call("read", path, data, None, len(data), handle=handle, size=max(len(data), 1) if data else 4096,
                      offset=offset, pid=pid)  # fmt: skip
            offset += len(data)
        self.call("close", path, result=0, handle=handle, pid=pid)

    @property
    def text(self) -> bytes:
        return "".join(map(line_of, (self.head.as_call(), *self.calls))).encode()

    def reader(self) -> TraceReader:
        return TraceReader(io.BytesIO(self.text), "t.jsonl")

    def replay(self, *kernels: str, layouts: Iterable[str] = ()) -> Replay:
        reader = self.reader()
        replay = Replay(reader.head, list(layouts) or [reader.head.layout], kernels)
        for call in reader:
            replay.feed(reader.number, call)
        replay.end()
        return replay


def differing(replay: Replay) -> list[tuple[str, str, dict[str, str | None]]]:
    """The operation and path of each call that differs, and the errnos by kernel."""
    return [
        (row.call.op, row.call.path, {one.title: row.outcomes[one.title].errno for one in replay.played})
        for row, _ in replay.differing()
    ]
